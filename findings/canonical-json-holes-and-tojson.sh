#!/usr/bin/env bash
# Package: canonicalize 4.0.0, json-canonicalize 3.0.1, safe-stable-stringify 3.0.0 (npm)
#
# Behaviour: Three packages write JSON with sorted keys and differ on an array with a hole:
# canonicalize writes [,1], which is not JSON, json-canonicalize writes [1], and
# safe-stable-stringify writes [null,1]. json-canonicalize also leaves the keys unsorted in what
# a toJSON() method returns.
#
# Expected: A hole is null, as in JSON.stringify(), and all keys are sorted.
#
# Why it matters: A signature or a content hash over such a text differs between services. For
# types with toJSON(), such as wrapped database values, the hash depends on the order of
# insertion.
#
# Seen 2026-11-28 with canonicalize 4.0.0, json-canonicalize 3.0.1, safe-stable-stringify 3.0.0
# on Node 20.20.2, Linux x86-64:
#   canonicalize, hole -> [,1]
#   canonicalize, toJSON -> {"a":2,"b":1}
#   json-canonicalize, hole -> [1]
#   json-canonicalize, toJSON -> {"b":1,"a":2}
#   safe-stable-stringify, hole -> [null,1]
#   safe-stable-stringify, toJSON -> {"a":2,"b":1}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  canonicalize@4.0.0 json-canonicalize@3.0.1 safe-stable-stringify@3.0.0
cd "$dir"
node - <<'JS'
(async () => {
  const changed = [];
  // Prints what was seen, and notes it when it is not what the header says.
  function see(what, got, wanted) {
    console.log(`${what} -> ${got}`);
    if (String(got) !== String(wanted)) changed.push(what);
  }

  const { default: canonicalize } = await import('canonicalize');
  const { canonicalize: jsonCanonicalize } = require('json-canonicalize');
  const stable = require('safe-stable-stringify');
  const hole = [];
  hole[1] = 1;
  const typed = { toJSON: () => ({ b: 1, a: 2 }) };
  for (const [name, write, holeWants, typedWants] of [
    ['canonicalize', canonicalize, '[,1]', '{"a":2,"b":1}'],
    ['json-canonicalize', jsonCanonicalize, '[1]', '{"b":1,"a":2}'],
    ['safe-stable-stringify', stable, '[null,1]', '{"a":2,"b":1}'],
  ]) {
    see(`${name}, hole`, write(hole), holeWants);
    see(`${name}, toJSON`, write(typed), typedWants);
  }

  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
})();
JS

#!/usr/bin/env bash
# Package: flat 6.0.1, dot-object 2.1.5 (npm)
#
# Behaviour: unflatten() of the npm package flat makes an array of each document whose first key
# is a whole number. The other keys hang on the array and vanish from its JSON: {"0": 1, "x": 2}
# comes back as [1]. The key 01 becomes index 1, and an empty key index 0. dot-object makes
# arrays too.
#
# Expected: flatten() and unflatten() are the reverse of each other for plain JSON without dots in
# keys.
#
# Why it matters: Update paths such as "seats.12" and maps with ids as keys are common in
# documents. A trip through the flat form loses fields without an error.
#
# Seen 2026-11-28 with flat 6.0.1, dot-object 2.1.5 on Node 20.20.2, Linux x86-64:
#   flat {"a":{"x":1}} -> {"a":{"x":1}}
#   flat {"a":{"0":1}} -> {"a":[1]}
#   flat {"a":{"0":1,"x":2}} -> {"a":[1]}
#   flat {"a":{"01":1}} -> {"a":[null,1]}
#   flat {"a":{"":1}} -> {"a":[1]}
#   dot-object {"a":{"0":1}} -> {"a":[1]}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  flat@6.0.1 dot-object@2.1.5
cd "$dir"
node - <<'JS'
(async () => {
  const changed = [];
  // Prints what was seen, and notes it when it is not what the header says.
  function see(what, got, wanted) {
    console.log(`${what} -> ${got}`);
    if (String(got) !== String(wanted)) changed.push(what);
  }

  const { flatten, unflatten } = await import('flat');
  const dot = require('dot-object');
  for (const [document, wanted] of [
    [{ a: { x: 1 } }, '{"a":{"x":1}}'],
    [{ a: { 0: 1 } }, '{"a":[1]}'],
    [{ a: { 0: 1, x: 2 } }, '{"a":[1]}'],
    [{ a: { '01': 1 } }, '{"a":[null,1]}'],
    [{ a: { '': 1 } }, '{"a":[1]}'],
  ]) {
    see(`flat ${JSON.stringify(document)}`, JSON.stringify(unflatten(flatten(document))), wanted);
  }
  see(
    'dot-object {"a":{"0":1}}',
    JSON.stringify(dot.object(dot.dot({ a: { 0: 1 } }))),
    '{"a":[1]}',
  );

  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
})();
JS

#!/usr/bin/env bash
# Package: jsonata 2.2.2 (npm)
#
# Behaviour: JSONata turns a number with a fraction into text with 15 digits: 0.30000000000000004
# becomes "0.3", in $string() of a whole document too. Integers keep 16 digits.
#
# Guess: $string() gives the text of JSON.stringify().
#
# Why it matters: Documents that a mapping writes as JSON text have other numbers than the
# source. A comparison of source and target finds differences in the last digits of coordinates
# and prices.
#
# Seen 2026-11-28 with jsonata 2.2.2 on Node 20.20.2, Linux x86-64:
#   $string(a) of {"a":0.30000000000000004} -> 0.3
#   a & "" of {"a":1234567890.123456} -> 1234567890.12346
#   $string($) of {"a":0.30000000000000004} -> {"a":0.3}
#   $string(a) of {"a":9007199254740991} -> 9007199254740991
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  jsonata@2.2.2
cd "$dir"
node - <<'JS'
(async () => {
  const changed = [];
  // Prints what was seen, and notes it when it is not what the header says.
  function see(what, got, wanted) {
    console.log(`${what} -> ${got}`);
    if (String(got) !== String(wanted)) changed.push(what);
  }

  const jsonata = require('jsonata');
  for (const [expression, number, wanted] of [
    ['$string(a)', 0.1 + 0.2, '0.3'],
    ['a & ""', 1234567890.123456, '1234567890.12346'],
    ['$string($)', 0.1 + 0.2, '{"a":0.3}'],
    ['$string(a)', 9007199254740991, '9007199254740991'],
  ]) {
    see(
      `${expression} of ${JSON.stringify({ a: number })}`,
      await jsonata(expression).evaluate({ a: number }),
      wanted,
    );
  }

  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
})();
JS

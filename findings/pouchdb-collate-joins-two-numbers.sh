#!/usr/bin/env bash
# Package: pouchdb-collate 9.0.0 (npm)
#
# Behaviour: toIndexableString() of pouchdb-collate gives one text for two different numbers, for
# instance 3021.7000000000003 and 3021.7000000000007. Its reverse gives another number than the
# one that went in for many doubles.
#
# Expected: The text keeps the order of numbers and two numbers have two texts, for it is the key of
# an index.
#
# Why it matters: A view index treats two values as one key, and its keys show numbers that no
# document holds. collate() itself keeps the two apart.
#
# Seen 2026-11-28 with pouchdb-collate 9.0.0 on Node 20.20.2, Linux x86-64:
#   collate -> -1
#   low -> "323273.02170000000000049667\u0000"
#   0.1 and back -> true
#   1700000000123 and back -> true
#   -13235.175009777304 and back -> false
#   123456789012345680000 and back -> false
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  pouchdb-collate@9.0.0
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { collate, toIndexableString, parseIndexableString } = require('pouchdb-collate');
const [low, high] = [3021.7000000000003, 3021.7000000000007];
see('collate', Math.sign(collate(low, high)), -1);
see('low', JSON.stringify(toIndexableString(low)), JSON.stringify(toIndexableString(high)));
for (const number of [0.1, 1700000000123, -13235.175009777304, 123456789012345680000]) {
  const back = parseIndexableString(toIndexableString(number));
  see(`${number} and back`, back === number, number === 0.1 || number === 1700000000123);
}

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

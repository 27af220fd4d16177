#!/usr/bin/env bash
# Package: json-bigint 1.0.0, lossless-json 4.3.3 (npm)
#
# Behaviour: json-bigint takes each number of more than 15 characters for a big one, fractions
# and the sign included. With useNativeBigInt it then fails on 0.30000000000000004 or
# 51.5073512345678. Without it such a number is an object, and + joins it as text.
#
# Guess: Only integers beyond 2^53 are big; a double that JSON.stringify() wrote is read back as
# a number.
#
# Why it matters: A parser that was chosen to keep large ids fails on coordinates and on sums of
# prices, in documents that the plain JSON.parse() reads.
#
# Seen 2026-11-28 with json-bigint 1.0.0, lossless-json 4.3.3 on Node 20.20.2, Linux x86-64:
#   native 51.507351234567 -> 51.507351234567
#   native 51.5073512345678 -> Cannot convert 51.5073512345678 to a BigInt
#   native -51.507351234567 -> Cannot convert -51.507351234567 to a BigInt
#   native 0.30000000000000004 -> Cannot convert 0.30000000000000004 to a BigInt
#   objects -> 0.300000000000000041
#   lossless-json -> {"a":0.30000000000000004}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  json-bigint@1.0.0 lossless-json@4.3.3
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const JSONbig = require('json-bigint');
const native = JSONbig({ useNativeBigInt: true });
const lossless = require('lossless-json');
const attempt = (parse, text) => {
  try {
    return parse(text).a;
  } catch (error) {
    return error.message;
  }
};
for (const [number, wanted] of [
  [51.507351234567, '51.507351234567'],
  [51.5073512345678, 'Cannot convert 51.5073512345678 to a BigInt'],
  [-51.507351234567, 'Cannot convert -51.507351234567 to a BigInt'],
  [0.1 + 0.2, 'Cannot convert 0.30000000000000004 to a BigInt'],
]) {
  see(`native ${number}`, attempt(native.parse, JSON.stringify({ a: number })), wanted);
}
see('objects', attempt(JSONbig().parse, '{"a":0.30000000000000004}') + 1, '0.300000000000000041');
see(
  'lossless-json',
  lossless.stringify(lossless.parse('{"a":0.30000000000000004}')),
  '{"a":0.30000000000000004}',
);

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

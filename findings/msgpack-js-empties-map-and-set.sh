#!/usr/bin/env bash
# Package: @msgpack/msgpack 3.1.3, msgpackr 2.1.4 (npm)
#
# Behaviour: @msgpack/msgpack writes a Map and a Set as an empty map, and an invalid Date as the
# first moment of 1970. It raises an error for a BigInt. msgpackr writes the Map as a map and the
# Set as an array.
#
# Guess: A Map becomes a map of MessagePack (the format allows every type of key), or an error is
# raised as for a BigInt.
#
# Why it matters: A document that holds a Map is stored with the field empty, and the writer sees
# no error.
#
# Seen 2026-11-28 with @msgpack/msgpack 3.1.3, msgpackr 2.1.4 on Node 20.20.2, Linux x86-64:
#   Map -> 80
#   Set -> 80
#   invalid Date -> 1970-01-01T00:00:00.000Z
#   BigInt -> Unrecognized object: [object BigInt]
#   msgpackr Map -> 81a16101
#   msgpackr Set -> 9101
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  @msgpack/msgpack@3.1.3 msgpackr@2.1.4
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { encode, decode } = require('@msgpack/msgpack');
const { pack, unpack } = require('msgpackr');
const hex = (bytes) => Buffer.from(bytes).toString('hex');
see('Map', hex(encode(new Map([['a', 1]]))), '80');
see('Set', hex(encode(new Set([1]))), '80');
see('invalid Date', decode(encode(new Date('no date'))).toISOString(), '1970-01-01T00:00:00.000Z');
let got;
try {
  got = hex(encode(5n));
} catch (error) {
  got = error.message;
}
see('BigInt', got, 'Unrecognized object: [object BigInt]');
see('msgpackr Map', hex(pack(new Map([['a', 1]]))), '81a16101');
see('msgpackr Set', hex(pack(new Set([1]))), '9101');

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

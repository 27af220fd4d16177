#!/usr/bin/env bash
# Package: cbor 10.0.12, cbor-x 1.6.9 (npm)
#
# Behaviour: The npm package cbor writes a RegExp with tag 35 and the pattern alone: the flags
# are lost. cbor-x keeps the flags, in a tag of its own, which cbor reads back as an unknown tag.
#
# Guess: The pattern comes back with its flags, or the writer raises an error.
#
# Why it matters: A stored filter that ignores case becomes one that does not, and finds fewer
# documents without an error.
#
# Seen 2026-11-28 with cbor 10.0.12, cbor-x 1.6.9 on Node 20.20.2, Linux x86-64:
#   cbor -> /straße/
#   cbor-x -> /straße/i
#   cbor-x writes, cbor reads -> Tagged
#   cbor writes, cbor-x reads -> Tag
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  cbor@10.0.12 cbor-x@1.6.9
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const cbor = require('cbor');
const cborx = require('cbor-x');
see('cbor', cbor.decode(cbor.encode(/straße/i)), '/straße/');
see('cbor-x', cborx.decode(cborx.encode(/straße/i)), '/straße/i');
see('cbor-x writes, cbor reads', cbor.decode(cborx.encode(/a/i)).constructor.name, 'Tagged');
see('cbor writes, cbor-x reads', cborx.decode(cbor.encode(/a/i)).constructor.name, 'Tag');

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

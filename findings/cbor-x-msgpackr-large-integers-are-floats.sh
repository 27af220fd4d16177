#!/usr/bin/env bash
# Package: cbor-x 1.6.9, msgpackr 2.1.4, cbor2 6.3.0, msgpack 1.2.4 (npm, PyPI)
#
# Behaviour: cbor-x and msgpackr write whole numbers from 2^32 on as 64-bit floats, though both
# formats have 64-bit integers. A Python reader gets an int for 4294967295 and a float for
# 4294967296. Milliseconds since 1970 are floats therefore.
#
# Guess: A whole number is written as an integer up to 2^53, as other JavaScript libraries do.
#
# Why it matters: The type of a field depends on its size. A typed store gets two types for one
# field, and a strict schema refuses every date in milliseconds.
#
# Seen 2026-11-28 with cbor-x 1.6.9, msgpackr 2.1.4, cbor2 6.3.0, msgpack 1.2.4 on Python 3.11.7
# and Node 20.20.2, Linux x86-64:
#   cbor-x -> 1affffffff,fb41f0000000000000,fb4276f5e66e800000
#   msgpackr -> ceffffffff,cb41f0000000000000,cb4276f5e66e800000
#   Python cbor2 -> [4294967295, 4294967296.0, 1577836800000.0]
#   Python msgpack -> [4294967295, 4294967296.0, 1577836800000.0]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'cbor2==6.3.0' 'msgpack==1.2.4'
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  cbor-x@1.6.9 msgpackr@2.1.4
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const fs = require('fs');
const cbor = require('cbor-x');
const msgpackr = require('msgpackr');
const values = [4294967295, 4294967296, 1577836800000];
fs.writeFileSync('cbor', values.map((v) => cbor.encode(v).toString('hex')).join('\n'));
fs.writeFileSync('msgpack', values.map((v) => msgpackr.pack(v).toString('hex')).join('\n'));
see(
  'cbor-x',
  fs.readFileSync('cbor', 'utf8').split('\n'),
  '1affffffff,fb41f0000000000000,fb4276f5e66e800000',
);
see(
  'msgpackr',
  fs.readFileSync('msgpack', 'utf8').split('\n'),
  'ceffffffff,cb41f0000000000000,cb4276f5e66e800000',
);

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import cbor2
import msgpack

wanted = "[4294967295, 4294967296.0, 1577836800000.0]"
with open("cbor") as file:
    see("Python cbor2", [cbor2.loads(bytes.fromhex(line)) for line in file], wanted)
with open("msgpack") as file:
    see("Python msgpack", [msgpack.unpackb(bytes.fromhex(line)) for line in file], wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: avsc 5.7.9, fastavro 1.13.1 (npm, PyPI)
#
# Behaviour: avsc reads each Avro long from -9007199254740991 to -4503599627370497 as a positive
# number, with no error. Odd values are off by one too. It refuses the positive 9007199254740991,
# the largest safe integer of JavaScript, with "potential precision loss".
#
# Guess: Every safe integer passes, and the first loss is at 2^53 and raises an error.
#
# Why it matters: A document with such a number changes its sign on the way from a Python program
# to a Node program, and a 53-bit id becomes another id.
#
# Seen 2026-11-28 with avsc 5.7.9, fastavro 1.13.1 on Python 3.11.7 and Node 20.20.2, Linux
# x86-64:
#   fastavro reads 9007199254740990 -> 9007199254740990
#   fastavro reads 9007199254740991 -> 9007199254740991
#   fastavro reads -4503599627370496 -> -4503599627370496
#   fastavro reads -4503599627370497 -> -4503599627370497
#   fastavro reads -6000000000000000 -> -6000000000000000
#   fastavro reads -9007199254740991 -> -9007199254740991
#   avsc reads 9007199254740990 -> 9007199254740990
#   avsc reads 9007199254740991 -> potential precision loss
#   avsc reads -4503599627370496 -> -4503599627370496
#   avsc reads -4503599627370497 -> 4503599627370496
#   avsc reads -6000000000000000 -> 6000000000000000
#   avsc reads -9007199254740991 -> 9007199254740990
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'fastavro==1.13.1'
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  avsc@5.7.9
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import io
import fastavro

with open("longs", "w") as out:
    for value in (2**53 - 2, 2**53 - 1, -(2**52), -(2**52) - 1, -6000000000000000, -(2**53) + 1):
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, "long", value)
        buffer.seek(0)
        see(f"fastavro reads {value}", fastavro.schemaless_reader(buffer, "long"), value)
        out.write(f"{value} {buffer.getvalue().hex()}\n")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const type = require('avsc').Type.forSchema('long');
const wanted = {
  9007199254740990: '9007199254740990',
  9007199254740991: 'potential precision loss',
  '-4503599627370496': '-4503599627370496',
  '-4503599627370497': '4503599627370496',
  '-6000000000000000': '6000000000000000',
  '-9007199254740991': '9007199254740990',
};
for (const line of require('fs').readFileSync('longs', 'utf8').trim().split('\n')) {
  const [value, hex] = line.split(' ');
  let got;
  try {
    got = type.fromBuffer(Buffer.from(hex, 'hex'));
  } catch (error) {
    got = error.message;
  }
  see(`avsc reads ${value}`, got, wanted[value]);
}

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: bson 7.3.4, pymongo 4.20.1 (npm, PyPI)
#
# Behaviour: In the npm package bson, a whole number beyond 32 bits is a double in serialize()
# and a $numberLong in EJSON.stringify() with relaxed: false. The numbers 2^63 and -2^63 become
# $numberLong texts that are outside of the 64-bit integers.
#
# Guess: Canonical extended JSON names the type that serialize() writes: $numberDouble.
#
# Why it matters: A backup through extended JSON turns doubles into integers. A field type check,
# a $type query and a hash see the difference. pymongo parses the largest text and then cannot
# encode it.
#
# Seen 2026-11-28 with bson 7.3.4, pymongo 4.20.1 on Python 3.11.7 and Node 20.20.2, Linux
# x86-64:
#   3000000000: BSON type, extended JSON -> 1 {"v":{"$numberLong":"3000000000"}}
#   1000000000000000000: BSON type, extended JSON -> 1 {"v":{"$numberLong":"1000000000000000000"}}
#   9223372036854776000: BSON type, extended JSON -> 1 {"v":{"$numberLong":"9223372036854776000"}}
#   -9223372036854776000: BSON type, extended JSON -> 1 {"v":{"$numberLong":"-9223372036854776000"}}
#   10000000000000000000: BSON type, extended JSON -> 1 {"v":{"$numberDouble":"10000000000000000000"}}
#   pymongo encodes the text of 2^63 -> MongoDB can only handle up to 8-byte ints
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'pymongo==4.20.1'
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  bson@7.3.4
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { serialize, EJSON } = require('bson');
for (const [value, wanted] of [
  [3e9, '1 {"v":{"$numberLong":"3000000000"}}'],
  [1e18, '1 {"v":{"$numberLong":"1000000000000000000"}}'],
  [2 ** 63, '1 {"v":{"$numberLong":"9223372036854776000"}}'],
  [-(2 ** 63), '1 {"v":{"$numberLong":"-9223372036854776000"}}'],
  [1e19, '1 {"v":{"$numberDouble":"10000000000000000000"}}'],
]) {
  const type = serialize({ v: value })[4];
  see(
    `${value}: BSON type, extended JSON`,
    `${type} ${EJSON.stringify({ v: value }, { relaxed: false })}`,
    wanted,
  );
}
require('fs').writeFileSync('big.json', EJSON.stringify({ v: 2 ** 63 }, { relaxed: false }));

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


import bson
from bson import json_util

with open("big.json") as file:
    document = json_util.loads(file.read())
try:
    got = bson.encode(document)
except OverflowError as error:
    got = error
see("pymongo encodes the text of 2^63", got, "MongoDB can only handle up to 8-byte ints")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

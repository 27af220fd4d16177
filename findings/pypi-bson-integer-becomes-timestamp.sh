#!/usr/bin/env bash
# Package: bson 0.5.10, pymongo 4.20.1 (PyPI)
#
# Behaviour: The package named bson on PyPI (not the one inside pymongo) writes an integer from
# 2^63 to 2^64-1 as BSON type 0x11. That type is the timestamp of MongoDB. The package reads it
# back as an integer; pymongo reads a Timestamp.
#
# Guess: The package raises an error, as pymongo does: BSON has no unsigned 64-bit integer.
#
# Why it matters: A hash or an id of 64 bits becomes a moment in time in a database that loads
# the file. It then sorts after all dates instead of among the numbers.
#
# Seen 2026-11-28 with bson 0.5.10, pymongo 4.20.1 on Python 3.11.7, Linux x86-64:
#   the package bson writes -> 10000000116e00050000000000008000
#   the package bson reads -> {'n': 9223372036854775813}
#   pymongo reads -> {'n': Timestamp(2147483648, 5)}
#   pymongo writes -> MongoDB can only handle up to 8-byte ints
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/other" 'bson==0.5.10'
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'pymongo==4.20.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import subprocess

import bson

code = "import bson; print(bson.dumps({'n': 2**63 + 5}).hex(), bson.loads(bson.dumps({'n': 2**63 + 5})))"
written, read = (
    subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": "other"},
        capture_output=True,
        text=True,
        check=True,
    )
    .stdout.strip()
    .split(" ", 1)
)
see("the package bson writes", written, "10000000116e00050000000000008000")
see("the package bson reads", read, {"n": 2**63 + 5})
see("pymongo reads", bson.decode(bytes.fromhex(written)), "{'n': Timestamp(2147483648, 5)}")
try:
    bson.encode({"n": 2**63 + 5})
    refused = "written"
except OverflowError as error:
    refused = error
see("pymongo writes", refused, "MongoDB can only handle up to 8-byte ints")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

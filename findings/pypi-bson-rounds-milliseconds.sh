#!/usr/bin/env bash
# Package: bson 0.5.10, pymongo 4.20.1 (PyPI)
#
# Behaviour: The package named bson on PyPI rounds a datetime to the nearest millisecond. The
# bson of pymongo cuts it. The last microsecond of a year is in the next year for one and in the
# old year for the other.
#
# Guess: Both cut: BSON holds milliseconds.
#
# Why it matters: Two writers of one event store two dates. A range query up to midnight finds
# one of them, and a unique index on the date keeps both.
#
# Seen 2026-11-28 with bson 0.5.10, pymongo 4.20.1 on Python 3.11.7, Linux x86-64:
#   the package bson -> 2021-01-01 00:00:00
#   pymongo -> 2020-12-31 23:59:59.999000
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


import datetime
import subprocess

import bson

code = """
import bson, datetime
last = datetime.datetime(2020, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)
print(bson.dumps({'d': last}).hex())
"""
other = subprocess.run(
    [sys.executable, "-c", code],
    env={"PYTHONPATH": "other"},
    capture_output=True,
    text=True,
    check=True,
).stdout.strip()
last = datetime.datetime(2020, 12, 31, 23, 59, 59, 999999)
see("the package bson", bson.decode(bytes.fromhex(other))["d"], "2021-01-01 00:00:00")
see("pymongo", bson.decode(bson.encode({"d": last}))["d"], "2020-12-31 23:59:59.999000")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

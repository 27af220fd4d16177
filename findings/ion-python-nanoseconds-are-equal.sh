#!/usr/bin/env bash
# Packages: amazon.ion 0.15.0 (PyPI)
#
# Behaviour: a timestamp with nanoseconds is read and written back exactly, but two timestamps that
# differ only below a microsecond are equal and have one hash, so one of them is lost in a set or as
# the key of a dict. replace() and the addition of a time span cut the nanoseconds off.
#
# Guess: Timestamps keep their digits in a field of their own, so equality looks at it.
#
# Why it matters: A cache or an import that removes duplicates by the value of the timestamp drops
# events, though the same library writes different bytes for them.
#
# Seen 2026-11-29 with amazon.ion 0.15.0 on Python 3.11.7, Linux x86-64:
#   written back -> 2020-01-01T00:00:00.123456789Z
#   equal -> True
#   in a set -> 1
#   one binary form -> False
#   year replaced -> 2021-01-01T00:00:00.123456Z
#   a day later -> 2020-01-02T00:00:00.123456Z
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  --no-warn-conflicts --target "$dir/py" 'amazon.ion==0.15.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys
from datetime import timedelta

from amazon.ion import simpleion as ion

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if got != wanted:
        changed.append(what)


def text(value):
    return ion.dumps(value, binary=False).split(" ")[1]


first = ion.loads("2020-01-01T00:00:00.123456789Z")
second = ion.loads("2020-01-01T00:00:00.123456001Z")
see("written back", text(first), "2020-01-01T00:00:00.123456789Z")
see("equal", first == second, True)
see("in a set", len({first, second}), 1)
see("one binary form", ion.dumps(first) == ion.dumps(second), False)
see("year replaced", text(first.replace(year=2021)), "2021-01-01T00:00:00.123456Z")
see("a day later", text(first + timedelta(days=1)), "2020-01-02T00:00:00.123456Z")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

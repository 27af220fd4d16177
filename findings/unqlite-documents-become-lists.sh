#!/usr/bin/env bash
# Package: unqlite 1.2.0 (PyPI)
#
# Behaviour: A collection of the Python package unqlite returns an empty document as an empty
# list, and a document with the keys 0, 1 and so on as a list in the order of insertion. A float
# without a fraction comes back as an int, and NaN as 0.
#
# Guess: A document comes back as a dict with its keys, and a float as a float.
#
# Why it matters: A schema check fails on documents that were never changed. Keys such as years
# or ids keep their order by luck: {"1": "b", "0": "a"} becomes ["b", "a"].
#
# Seen 2026-11-28 with unqlite 1.2.0 on Python 3.11.7, Linux x86-64:
#   {'x': 1} -> {'x': 1}
#   {} -> []
#   {'0': 'a'} -> ['a']
#   {'1': 'b', '0': 'a'} -> ['b', 'a']
#   2.0 -> 2
#   nan -> 0
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'unqlite==1.2.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import unqlite

things = unqlite.UnQLite(":mem:").collection("things")
things.create()
for value, wanted in (
    ({"x": 1}, "{'x': 1}"),
    ({}, "[]"),
    ({"0": "a"}, "['a']"),
    ({"1": "b", "0": "a"}, "['b', 'a']"),
    (2.0, "2"),
    (float("nan"), "0"),
):
    see(repr(value), repr(things.fetch(things.store({"a": value}))["a"]), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

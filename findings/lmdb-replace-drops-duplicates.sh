#!/usr/bin/env bash
# Package: lmdb 3.0.0 (PyPI)
#
# Behaviour: In a dupsort database of the Python package lmdb, replace() of a key with three
# values returns the first one and leaves the new value alone: the two others are gone. pop()
# returns the first value and keeps the others.
#
# Expected: Both act on the one value that they return.
#
# Why it matters: An index that keeps many document ids below one key loses all but one entry in
# a step that looks like an update.
#
# Seen 2026-11-28 with lmdb 3.0.0 on Python 3.11.7, Linux x86-64:
#   replace returns -> b'1'
#   pop returns -> b'1'
#   what is left -> [(b'a', b'9'), (b'b', b'2'), (b'b', b'3')]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'lmdb==3.0.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import lmdb

environment = lmdb.open("db", max_dbs=1)
index = environment.open_db(b"index", dupsort=True)
with environment.begin(write=True) as transaction:
    for key in (b"a", b"b"):
        for value in (b"1", b"2", b"3"):
            transaction.put(key, value, db=index)
    see("replace returns", transaction.replace(b"a", b"9", db=index), b"1")
    see("pop returns", transaction.pop(b"b", db=index), b"1")
    see("what is left", list(transaction.cursor(index)), [(b"a", b"9"), (b"b", b"2"), (b"b", b"3")])
environment.close()

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

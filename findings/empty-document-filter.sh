#!/usr/bin/env bash
# Package: mongomock 4.3.0, montydb 2.5.6 (PyPI)
#
# Behaviour: The filter {"a": {}} asks for documents whose field a is an empty document.
# mongomock also finds the documents that have no field a. montydb finds none, not even the empty
# one.
#
# Guess: Both find the one document with the empty field, as MongoDB does.
#
# Why it matters: A test suite that runs on an imitation of MongoDB passes with a delete that
# would remove other documents, or none, in the real database.
#
# Seen 2026-11-28 with mongomock 4.3.0, montydb 2.5.6 on Python 3.11.7, Linux x86-64:
#   mongomock -> ['empty', 'none']
#   montydb -> []
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'mongomock==4.3.0' 'montydb==2.5.6' 'pymongo==4.20.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import warnings

warnings.simplefilter("ignore")
import mongomock
import montydb

for name, client, wanted in (
    ("mongomock", mongomock.MongoClient(), ["empty", "none"]),
    ("montydb", montydb.MontyClient(":memory:"), []),
):
    collection = client.db.things
    collection.insert_one({"_id": "empty", "a": {}})
    collection.insert_one({"_id": "full", "a": {"x": 1}})
    collection.insert_one({"_id": "none"})
    see(name, sorted(d["_id"] for d in collection.find({"a": {}})), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

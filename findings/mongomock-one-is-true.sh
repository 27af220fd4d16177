#!/usr/bin/env bash
# Package: mongomock 4.3.0 (PyPI)
#
# Behaviour: In mongomock the number 1 and the boolean true are equal: in filters, in $in, in
# distinct() and in a unique index.
#
# Guess: The types differ, as in MongoDB: 1 does not match true.
#
# Why it matters: Tests with flags and counters pass on the imitation and fail on the database. A
# unique index refuses documents that MongoDB takes.
#
# Seen 2026-11-28 with mongomock 4.3.0 on Python 3.11.7, Linux x86-64:
#   a is 1 -> ['number', 'flag']
#   a in [true] -> ['number', 'flag']
#   distinct -> [1]
#   unique index -> DuplicateKeyError
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'mongomock==4.3.0' 'pymongo==4.20.1'
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

collection = mongomock.MongoClient().db.things
collection.insert_many([{"_id": "number", "a": 1}, {"_id": "flag", "a": True}])
see("a is 1", [d["_id"] for d in collection.find({"a": 1})], ["number", "flag"])
see("a in [true]", [d["_id"] for d in collection.find({"a": {"$in": [True]}})], ["number", "flag"])
see("distinct", collection.distinct("a"), [1])
unique = mongomock.MongoClient().db.things
unique.create_index("a", unique=True)
unique.insert_one({"a": 1})
try:
    unique.insert_one({"a": True})
    got = "both are in"
except mongomock.DuplicateKeyError as error:
    got = "DuplicateKeyError"
see("unique index", got, "DuplicateKeyError")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

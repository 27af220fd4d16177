#!/usr/bin/env bash
# Package: mongita 1.2.0 (PyPI)
#
# Behaviour: $ne with one value finds a document whose list contains that value, and $nin with
# the same single value does not find it. $inc of a field that is missing is an error.
#
# Guess: $ne is $nin with one value, as in MongoDB, and $inc begins at zero.
#
# Why it matters: A test that runs on the embedded imitation passes with documents that the
# server would not return.
#
# Seen 2026-11-28 with mongita 1.2.0 on Python 3.11.7, Linux x86-64:
#   $eq a -> ['list', 'plain']
#   $ne a -> ['list', 'other']
#   $nin [a] -> ['other']
#   $inc of a missing field -> refused
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'mongita==1.2.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import mongita

collection = mongita.MongitaClientMemory().shop.items
for name, tags in (("list", ["a", "b"]), ("plain", "a"), ("other", "b")):
    collection.insert_one({"name": name, "tags": tags})


def found(query):
    return [document["name"] for document in collection.find(query)]


see("$eq a", found({"tags": "a"}), ["list", "plain"])
see("$ne a", found({"tags": {"$ne": "a"}}), ["list", "other"])
see("$nin [a]", found({"tags": {"$nin": ["a"]}}), ["other"])
try:
    collection.update_one({"name": "other"}, {"$inc": {"count": 1}})
    outcome = "counted"
except mongita.errors.MongitaError:
    outcome = "refused"
see("$inc of a missing field", outcome, "refused")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: json-merge-patch 0.3.0 (PyPI), jsonpatch 1.48 (PyPI)
#
# Behaviour: create_patch() of the Python package json-merge-patch compares with ==. The change
# from 1 to true, from 0 to false and from 1 to 1.0 gives an empty patch. jsonpatch sees all
# three.
#
# Guess: A diff of JSON sees a change of type.
#
# Why it matters: A document that is kept in step through merge patches keeps the number for
# ever. A type check or a filter for true then misses it.
#
# Seen 2026-11-28 with json-merge-patch 0.3.0 (PyPI), jsonpatch 1.48 on Python 3.11.7, Linux
# x86-64:
#   json-merge-patch 1 to True -> {}
#   jsonpatch 1 to True -> 1
#   json-merge-patch 0 to False -> {}
#   jsonpatch 0 to False -> 1
#   json-merge-patch 1 to 1.0 -> {}
#   jsonpatch 1 to 1.0 -> 1
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'json-merge-patch==0.3.0' 'jsonpatch==1.48'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import json_merge_patch
import jsonpatch

for before, after in ((1, True), (0, False), (1, 1.0)):
    see(
        f"json-merge-patch {before} to {after}",
        json_merge_patch.create_patch({"a": before}, {"a": after}),
        {},
    )
    see(
        f"jsonpatch {before} to {after}",
        len(jsonpatch.make_patch({"a": before}, {"a": after}).patch),
        1,
    )

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

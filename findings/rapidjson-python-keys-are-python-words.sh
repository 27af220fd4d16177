#!/usr/bin/env bash
# Package: python-rapidjson 1.21 (PyPI)
#
# Behaviour: With MM_COERCE_KEYS_TO_STRINGS, the keys True, False and None become "True", "False"
# and "None". Python's json module writes "true", "false" and "null".
#
# Guess: The option does what the json module does without one.
#
# Why it matters: A counter by flag ({True: 3, False: 1}) that one program saves is not found by
# another one that reads the other words, and a document saved by both has four fields.
#
# Seen 2026-11-29 with python-rapidjson 1.21 on Python 3.11.7, Linux x86-64:
#   rapidjson -> {"True":1,"False":2,"None":3,"1.5":4}
#   json -> {"true":1,"false":2,"null":3,"1.5":4}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'python-rapidjson==1.21'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import json
import sys

import rapidjson

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if got != wanted:
        changed.append(what)


COUNTS = {True: 1, False: 2, None: 3, 1.5: 4}
see(
    "rapidjson",
    rapidjson.dumps(COUNTS, mapping_mode=rapidjson.MM_COERCE_KEYS_TO_STRINGS),
    '{"True":1,"False":2,"None":3,"1.5":4}',
)
see("json", json.dumps(COUNTS, separators=(",", ":")), '{"true":1,"false":2,"null":3,"1.5":4}')

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: jsonschema 4.26.0, fastjsonschema 2.22.3 (PyPI)
#
# Behaviour: With {"multipleOf": 0.01}, jsonschema refuses 0.07 and accepts 0.05. fastjsonschema
# accepts both and refuses 0.075.
#
# Guess: Two validators of one schema language agree on amounts in cents.
#
# Why it matters: A collection with such a rule takes a document in one service and refuses it in
# the next. A scan for bad documents reports good amounts.
#
# Seen 2026-11-28 with jsonschema 4.26.0, fastjsonschema 2.22.3 on Python 3.11.7, Linux x86-64:
#   jsonschema 0.05 -> True
#   fastjsonschema 0.05 -> True
#   jsonschema 0.07 -> False
#   fastjsonschema 0.07 -> True
#   jsonschema 0.075 -> False
#   fastjsonschema 0.075 -> False
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'jsonschema==4.26.0' 'fastjsonschema==2.22.3'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import fastjsonschema
import jsonschema

schema = {"multipleOf": 0.01}
plain = jsonschema.Draft202012Validator(schema)
fast = fastjsonschema.compile(schema)


def accepted_by_fast(value):
    try:
        fast(value)
        return True
    except fastjsonschema.JsonSchemaValueException:
        return False


for value, plain_wants, fast_wants in (
    (0.05, True, True),
    (0.07, False, True),
    (0.075, False, False),
):
    see(f"jsonschema {value}", plain.is_valid(value), plain_wants)
    see(f"fastjsonschema {value}", accepted_by_fast(value), fast_wants)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: jsonschema 4.26.0, fastjsonschema 2.22.3 (PyPI)
#
# Behaviour: 0.3 is not a multiple of 0.1 for jsonschema and is one for fastjsonschema; of 1e308
# and small divisors neither says what the decimal numbers say.
#
# Guess: Both take the decimal numbers that the schema shows, so 0.3 and 19.99 are multiples.
#
# Why it matters: A document that one service has accepted is refused by the next one, which has
# the same schema.
#
# Seen 2026-11-28 with jsonschema 4.26.0, fastjsonschema 2.22.3 on Python 3.11.7, Linux x86-64:
#   0.3 by 0.1 (jsonschema, fastjsonschema) -> (False, True)
#   19.99 by 0.01 (jsonschema, fastjsonschema) -> (False, True)
#   0.75 by 0.25 (jsonschema, fastjsonschema) -> (True, True)
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


def answers(value, schema):
    try:
        fastjsonschema.validate(schema, value)
        fast = True
    except fastjsonschema.JsonSchemaValueException:
        fast = False
    return jsonschema.Draft7Validator(schema).is_valid(value), fast


for value, divisor, wanted in ((0.3, 0.1, (False, True)), (19.99, 0.01, (False, True)), (0.75, 0.25, (True, True))):
    see(f"{value} by {divisor} (jsonschema, fastjsonschema)", answers(value, {"multipleOf": divisor}), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

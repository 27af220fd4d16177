#!/usr/bin/env bash
# Package: fastavro 1.13.1 (PyPI)
#
# Behaviour: fastavro writes the float 1.5 into a field of type long as 1, and 2147483648 into a
# field of type int as a number that no int holds. Its own validate() refuses both.
#
# Guess: The writer raises an error for a value that is not of the type.
#
# Why it matters: A load of documents into Avro cuts fractions where one field of a million was a
# float. Only a call of validate() (or strict checks of the reader) shows it.
#
# Seen 2026-11-28 with fastavro 1.13.1 on Python 3.11.7, Linux x86-64:
#   long 1.5 -> 1
#   long -2.9 -> -2
#   int 2147483648 -> 2147483648
#   validate long 1.5 -> False
#   validate int 2147483648 -> False
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'fastavro==1.13.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import io

import fastavro
from fastavro.validation import validate


def trip(schema, value):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    buffer.seek(0)
    return fastavro.schemaless_reader(buffer, schema)


see("long 1.5", trip("long", 1.5), 1)
see("long -2.9", trip("long", -2.9), -2)
see("int 2147483648", trip("int", 2**31), 2147483648)
see("validate long 1.5", validate(1.5, "long", raise_errors=False), False)
see("validate int 2147483648", validate(2**31, "int", raise_errors=False), False)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

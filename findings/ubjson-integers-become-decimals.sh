#!/usr/bin/env bash
# Package: py-ubjson 0.16.1 (PyPI)
#
# Behaviour: py-ubjson writes an integer of more than 63 bits as a number of high precision, and
# reads it back as a Decimal. It writes NaN and the infinities as null.
#
# Guess: An int comes back as an int, and NaN as a float or as an error.
#
# Why it matters: The type of a field depends on the size of its value: json.dumps() refuses the
# Decimal. A sensor value NaN becomes a null, which a filter for missing values finds.
#
# Seen 2026-11-28 with py-ubjson 0.16.1 on Python 3.11.7, Linux x86-64:
#   9223372036854775807 -> 9223372036854775807
#   9223372036854775808 -> Decimal('9223372036854775808')
#   nan -> None
#   inf -> None
#   -0.0 -> -0.0
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'py-ubjson==0.16.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import ubjson

for value, wanted in (
    (2**63 - 1, "9223372036854775807"),
    (2**63, "Decimal('9223372036854775808')"),
    (float("nan"), "None"),
    (float("inf"), "None"),
    (-0.0, "-0.0"),
):
    see(repr(value), repr(ubjson.loadb(ubjson.dumpb(value))), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: flatbuffers 25.12.19 (PyPI)
#
# Behaviour: Dumps() refuses whole numbers from 2^63 on, though the format has unsigned numbers
# of 64 bits and the builder has a call for them. The message names a number twice as large.
#
# Guess: The largest number of 64 bits is written as unsigned, as other languages do.
#
# Why it matters: Hashes and counters from a program in C++ can be read in Python, and the
# document that was read cannot be written back.
#
# Seen 2026-11-28 with flatbuffers 25.12.19 on Python 3.11.7, Linux x86-64:
#   read -> 18446744073709551615
#   write 9223372036854775807 -> 9223372036854775807
#   write 18446744073709551615 -> value is too big to encode: 36893488147419103230
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'flatbuffers==25.12.19'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


from flatbuffers import flexbuffers

builder = flexbuffers.Builder()
builder.UInt(2**64 - 1)
read = flexbuffers.Loads(builder.Finish())
see("read", read, 2**64 - 1)
for value in (2**63 - 1, read):
    try:
        outcome = flexbuffers.Loads(flexbuffers.Dumps(value))
    except ValueError as error:
        outcome = error
    wanted = value if value < 2**63 else "value is too big to encode: 36893488147419103230"
    see(f"write {value}", outcome, wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

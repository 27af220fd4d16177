#!/usr/bin/env bash
# Package: duckdb 2.0.1, polars 2.1.0 (PyPI)
#
# Behaviour: read_json of DuckDB takes 18446744073709551615 as a HUGEINT, a type of 128 bits, and
# the next integer as a DOUBLE. polars reads both as integers of 128 bits.
#
# Guess: HUGEINT is used for all integers that it holds, up to 2^127.
#
# Why it matters: One larger id in a file turns the ids of the column into rounded numbers, and
# joins on them find wrong rows or none.
#
# Seen 2026-11-28 with duckdb 2.0.1, polars 2.1.0 on Python 3.11.7, Linux x86-64:
#   duckdb 18446744073709551615 -> HUGEINT 18446744073709551615
#   polars 18446744073709551615 -> Int128 18446744073709551615
#   duckdb 18446744073709551616 -> DOUBLE 1.8446744073709552e+19
#   polars 18446744073709551616 -> Int128 18446744073709551616
#   duckdb 18446744073709551617 -> DOUBLE 1.8446744073709552e+19
#   polars 18446744073709551617 -> Int128 18446744073709551617
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'duckdb==2.0.1' 'polars==2.1.0'
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

import duckdb
import polars

for value, wanted in (
    (2**64 - 1, "HUGEINT 18446744073709551615"),
    (2**64, "DOUBLE 1.8446744073709552e+19"),
    (2**64 + 1, "DOUBLE 1.8446744073709552e+19"),
):
    text = '{"a":%d}\n' % value
    with open("big.json", "w") as file:
        file.write(text)
    table = duckdb.sql("from read_json('big.json')")
    see(f"duckdb {value}", f"{table.types[0]} {table.fetchall()[0][0]}", wanted)
    frame = polars.read_ndjson(io.BytesIO(text.encode()))
    see(f"polars {value}", f"{frame.schema['a']} {frame['a'][0]}", f"Int128 {value}")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

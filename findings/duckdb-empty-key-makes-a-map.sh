#!/usr/bin/env bash
# Package: duckdb 2.0.1 (PyPI)
#
# Behaviour: read_json of DuckDB makes a column for each field, unless one field of the records
# has the empty name. Then the whole record becomes one column named json of the type MAP.
#
# Guess: The empty name gets a made-up column name, and the other fields keep their columns.
#
# Why it matters: One document with the key "" (legal JSON) changes the table for all documents,
# and each query that names a column fails.
#
# Seen 2026-11-28 with duckdb 2.0.1 on Python 3.11.7, Linux x86-64:
#   plain columns -> [('a', 'BIGINT'), ('b', 'BIGINT')]
#   empty columns -> [('json', 'MAP(VARCHAR, BIGINT)')]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'duckdb==2.0.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import duckdb

for name, text, wanted in (
    ("plain", '{"a":1,"b":2}', "[('a', 'BIGINT'), ('b', 'BIGINT')]"),
    ("empty", '{"a":1,"b":2}\n{"":1,"b":2}', "[('json', 'MAP(VARCHAR, BIGINT)')]"),
):
    with open(f"{name}.json", "w") as file:
        file.write(text + "\n")
    table = duckdb.sql(f"from read_json('{name}.json')")
    see(f"{name} columns", list(zip(table.columns, map(str, table.types))), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: fastparquet 2026.9.0, pyarrow 26.0.1, polars 2.1.0 (PyPI)
#
# Behaviour: fastparquet writes a column of Python lists as JSON text in one byte column, not as
# the LIST of Parquet. pyarrow then reads texts of the type arrow.json, and polars reads bytes.
#
# Guess: A column of lists of integers becomes a LIST column, as pyarrow and polars write it.
#
# Why it matters: The same data frame gives another schema by the choice of the engine, and a
# query on array items fails in the next tool.
#
# Seen 2026-11-28 with fastparquet 2026.9.0, pyarrow 26.0.1, polars 2.1.0 on Python 3.11.7, Linux
# x86-64:
#   fastparquet -> [[1, 2], []]
#   pyarrow -> extension<arrow.json> ['[1,2]', '[]']
#   polars -> Binary [b'[1,2]', b'[]']
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'fastparquet==2026.9.0' 'pyarrow==26.0.1' 'polars==2.1.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import fastparquet
import pandas
import polars
import pyarrow.parquet

fastparquet.write("a.parquet", pandas.DataFrame({"a": [[1, 2], []]}))
table = pyarrow.parquet.read_table("a.parquet")["a"]
see("fastparquet", fastparquet.ParquetFile("a.parquet").to_pandas()["a"].tolist(), "[[1, 2], []]")
see("pyarrow", f"{table.type} {table.to_pylist()}", "extension<arrow.json> ['[1,2]', '[]']")
frame = polars.read_parquet("a.parquet")["a"]
see("polars", f"{frame.dtype} {frame.to_list()}", "Binary [b'[1,2]', b'[]']")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

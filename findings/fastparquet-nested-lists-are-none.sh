#!/usr/bin/env bash
# Package: fastparquet 2026.9.0, pyarrow 26.0.1 (PyPI)
#
# Behaviour: fastparquet reads a column of lists of lists, or of lists of documents, as None in
# each row. It raises no error. A column of plain lists is read.
#
# Guess: The reader raises an error for a shape that it does not know.
#
# Why it matters: A Parquet copy of documents with arrays of sub-documents looks empty in that
# field. A job that counts or copies rows does not notice.
#
# Seen 2026-11-28 with fastparquet 2026.9.0, pyarrow 26.0.1 on Python 3.11.7, Linux x86-64:
#   pyarrow lists -> [[1, 2], []]
#   fastparquet lists -> [[1, 2], []]
#   pyarrow lists of lists -> [[[1], [2]], [[3]]]
#   fastparquet lists of lists -> [None, None]
#   pyarrow lists of documents -> [[{'x': 1}], [{'x': 2}]]
#   fastparquet lists of documents -> [None, None]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'fastparquet==2026.9.0' 'pyarrow==26.0.1'
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
import pyarrow
import pyarrow.parquet

number = pyarrow.int64()
for name, values, kind, wanted in (
    ("lists", [[1, 2], []], pyarrow.list_(number), "[[1, 2], []]"),
    ("lists of lists", [[[1], [2]], [[3]]], pyarrow.list_(pyarrow.list_(number)), "[None, None]"),
    (
        "lists of documents",
        [[{"x": 1}], [{"x": 2}]],
        pyarrow.list_(pyarrow.struct([("x", number)])),
        "[None, None]",
    ),
):
    pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.array(values, kind)}), "a.parquet")
    see(f"pyarrow {name}", pyarrow.parquet.read_table("a.parquet")["a"].to_pylist(), values)
    rows = fastparquet.ParquetFile("a.parquet").to_pandas()["a"]
    see(
        f"fastparquet {name}",
        [[int(v) for v in row] if row is not None else row for row in rows],
        wanted,
    )

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

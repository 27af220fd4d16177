#!/usr/bin/env bash
# Package: pyorc 0.12.0, pyarrow 26.0.1 (PyPI)
#
# Behaviour: pyorc writes a timestamp of the last second before 1970 one second too late:
# 23:59:59.5 comes back as 00:00:00.5 of 1970. Other dates before 1970, with fractions too, are
# right. pyarrow reads the same wrong value from that file, and writes the right one itself.
#
# Guess: All dates before 1970 come back as they were, or all with a fraction are wrong.
#
# Why it matters: A test with dates of 1950 passes. Values near the start of the count, such as
# -1 for "unknown" in milliseconds, are changed.
#
# Seen 2026-11-28 with pyorc 0.12.0, pyarrow 26.0.1 on Python 3.11.7, Linux x86-64:
#   pyorc 1950-01-01 00:00:00.001000 -> 1950-01-01 00:00:00.001000
#     read by pyarrow -> 1950-01-01 00:00:00.001000
#     written by pyarrow -> 1950-01-01 00:00:00.001000
#   pyorc 1969-12-31 23:59:58.500000 -> 1969-12-31 23:59:58.500000
#     read by pyarrow -> 1969-12-31 23:59:58.500000
#     written by pyarrow -> 1969-12-31 23:59:58.500000
#   pyorc 1969-12-31 23:59:59.500000 -> 1970-01-01 00:00:00.500000
#     read by pyarrow -> 1970-01-01 00:00:00.500000
#     written by pyarrow -> 1969-12-31 23:59:59.500000
#   pyorc 1969-12-31 23:59:59.999000 -> 1970-01-01 00:00:00.999000
#     read by pyarrow -> 1970-01-01 00:00:00.999000
#     written by pyarrow -> 1969-12-31 23:59:59.999000
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'pyorc==0.12.0' 'pyarrow==26.0.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import datetime
import io

import pyarrow.orc
import pyorc


def written_by_pyorc(value):
    buffer = io.BytesIO()
    with pyorc.Writer(buffer, "struct<a:timestamp>") as writer:
        writer.write((value,))
    return buffer.getvalue()


def written_by_pyarrow(value):
    buffer = io.BytesIO()
    column = pyarrow.array([value], pyarrow.timestamp("us", "UTC"))
    pyarrow.orc.write_table(pyarrow.table({"a": column}), buffer)
    return buffer.getvalue()


def read_by_pyorc(data):
    return next(pyorc.Reader(io.BytesIO(data)))[0].strftime("%Y-%m-%d %H:%M:%S.%f")


for text, wanted in (
    ("1950-01-01 00:00:00.001000", "1950-01-01 00:00:00.001000"),
    ("1969-12-31 23:59:58.500000", "1969-12-31 23:59:58.500000"),
    ("1969-12-31 23:59:59.500000", "1970-01-01 00:00:00.500000"),
    ("1969-12-31 23:59:59.999000", "1970-01-01 00:00:00.999000"),
):
    value = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    data = written_by_pyorc(value)
    see(f"pyorc {text}", read_by_pyorc(data), wanted)
    read = (
        pyarrow.orc.ORCFile(io.BytesIO(data)).read()["a"].cast(pyarrow.timestamp("us"))[0].as_py()
    )
    see("  read by pyarrow", read.strftime("%Y-%m-%d %H:%M:%S.%f"), wanted)
    see("  written by pyarrow", read_by_pyorc(written_by_pyarrow(value)), text)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

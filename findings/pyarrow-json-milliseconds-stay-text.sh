#!/usr/bin/env bash
# Package: pyarrow 26.0.1 (PyPI)
#
# Behaviour: The JSON reader of pyarrow turns dates with whole seconds into timestamps. One value
# with milliseconds, even .000, leaves the whole column as text. A date without a time is a
# timestamp as well, and an offset is applied and then dropped.
#
# Guess: Fractions of a second give a timestamp with a finer unit, and the zone is kept in the
# type.
#
# Why it matters: The type of a date column depends on the one value that has milliseconds. Two
# files of one collection get two schemas and cannot be joined.
#
# Seen 2026-11-28 with pyarrow 26.0.1 on Python 3.11.7, Linux x86-64:
#   ['2020-01-01T00:00:00Z'] -> timestamp[s]
#   ['2020-01-01T00:00:00.000Z'] -> string
#   ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.123Z'] -> string
#   ['2020-01-01'] -> timestamp[s]
#   with an offset -> timestamp[s] 2019-12-31 18:30:00
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'pyarrow==26.0.1'
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

import pyarrow.json

for values, wanted in (
    (["2020-01-01T00:00:00Z"], "timestamp[s]"),
    (["2020-01-01T00:00:00.000Z"], "string"),
    (["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123Z"], "string"),
    (["2020-01-01"], "timestamp[s]"),
):
    lines = "".join('{"a":"%s"}\n' % value for value in values)
    see(values, pyarrow.json.read_json(io.BytesIO(lines.encode()))["a"].type, wanted)
offset = pyarrow.json.read_json(io.BytesIO(b'{"a":"2020-01-01T00:00:00+05:30"}\n'))["a"]
see("with an offset", f"{offset.type} {offset[0].as_py()}", "timestamp[s] 2019-12-31 18:30:00")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: agate 1.14.2 (PyPI)
#
# Behaviour: Columns of CSV get a type that no value says. 0 and 1 are booleans, the names May
# and June are days of the year 1, 1h and 2d are durations, $5 and 5% are the numbers 5, and a
# column of none, n/a and a dot is a boolean of nulls.
#
# Guess: Numbers are numbers, and words without digits are text.
#
# Why it matters: csvkit is built on it: csvjson of a list of people turns first names into
# dates, and the text none is gone.
#
# Seen 2026-11-28 with agate 1.14.2 on Python 3.11.7, Linux x86-64:
#   flag ['0', '1'] -> Boolean False True
#   name ['May', 'June'] -> Date 0001-05-01 0001-06-01
#   code ['1h', '2d'] -> TimeDelta 1:00:00 2 days, 0:00:00
#   share ['$5', '5%'] -> Number 5 5
#   answer ['none', 'n/a'] -> Boolean None None
#   zip ['00501', '10001'] -> Number 501 10001
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'agate==1.14.2'
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

import agate

columns = {
    "flag": (["0", "1"], "Boolean False True"),
    "name": (["May", "June"], "Date 0001-05-01 0001-06-01"),
    "code": (["1h", "2d"], "TimeDelta 1:00:00 2 days, 0:00:00"),
    "share": (["$5", "5%"], "Number 5 5"),
    "answer": (["none", "n/a"], "Boolean None None"),
    "zip": (["00501", "10001"], "Number 501 10001"),
}
for name, (values, wanted) in columns.items():
    text = f"{name},row\n" + "".join(f"{value},x{at}\n" for at, value in enumerate(values))
    column = agate.Table.from_csv(io.StringIO(text)).columns[name]
    kind = type(column.data_type).__name__
    see(f"{name} {values}", " ".join([kind, *map(str, column.values())]), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

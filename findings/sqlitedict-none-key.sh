#!/usr/bin/env bash
# Package: sqlitedict 2.1.0 (PyPI)
#
# Behaviour: sqlitedict accepts None as a key, stores each assignment as one more row, and finds
# none of them: the lookup raises KeyError.
#
# Guess: None is refused, or it is one key as in a dict.
#
# Why it matters: A load with a missing id grows the file at each run. len() and items() count
# rows that no lookup, and no del, reaches.
#
# Seen 2026-11-28 with sqlitedict 2.1.0 on Python 3.11.7, Linux x86-64:
#   items -> [('a', 0), (None, 1), (None, 2)]
#   length -> 3
#   None is in -> False
#   lookup -> KeyError(None)
#   del -> KeyError(None)
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'sqlitedict==2.1.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import sqlitedict

with sqlitedict.SqliteDict("d.sqlite", autocommit=True) as store:
    store["a"] = 0
    store[None] = 1
    store[None] = 2
    see("items", list(store.items()), [("a", 0), (None, 1), (None, 2)])
    see("length", len(store), 3)
    see("None is in", None in store, False)
    try:
        got = store[None]
    except KeyError as error:
        got = repr(error)
    see("lookup", got, "KeyError(None)")
    try:
        del store[None]
        got = "removed"
    except KeyError as error:
        got = repr(error)
    see("del", got, "KeyError(None)")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

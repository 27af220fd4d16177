#!/usr/bin/env bash
# Package: polars 2.1.0 (PyPI)
#
# Behaviour: read_ndjson of polars turns a column of numbers, texts and lists into text without a
# word: the list [1] becomes the text "[1]". A column of a number and a boolean raises an error
# instead. Of two equal keys in a record the first wins.
#
# Guess: All mixed columns raise an error, and the last of two equal keys wins, as in other JSON
# readers.
#
# Why it matters: A collection with a field of two types loads, and its numbers compare as text
# from then on: "10" sorts before "9".
#
# Seen 2026-11-28 with polars 2.1.0 on Python 3.11.7, Linux x86-64:
#   mixed -> String ['9', '10', 'x', '[1]']
#   sorted -> ['10', '9', '[1]', 'x']
#   number and boolean -> ComputeError
#   two equal keys -> [1]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'polars==2.1.0'
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

import polars


def read(*lines):
    return polars.read_ndjson(io.BytesIO("".join(line + "\n" for line in lines).encode()))["a"]


mixed = read('{"a":9}', '{"a":10}', '{"a":"x"}', '{"a":[1]}')
see("mixed", f"{mixed.dtype} {mixed.to_list()}", "String ['9', '10', 'x', '[1]']")
see("sorted", mixed.sort().to_list(), "['10', '9', '[1]', 'x']")
try:
    got = read('{"a":1}', '{"a":true}').to_list()
except polars.exceptions.ComputeError as error:
    got = "ComputeError"
see("number and boolean", got, "ComputeError")
see("two equal keys", read('{"a":1,"a":2}').to_list(), [1])

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

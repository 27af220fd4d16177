#!/usr/bin/env bash
# Packages: pysimdjson 7.0.2, json-stream 2.3.3 (PyPI)
#
# Behaviour: of an object with a repeated name, pysimdjson looks up the first value, and converts
# to a dict with the last one. A persistent object of json-stream answers with the first value
# until it was read further, and with the last one from then on.
#
# Guess: The last value everywhere, as the json module of Python and the conversions of both
# packages have it.
#
# Why it matters: A loader that reads a key by lookup and stores the converted document files it
# under a key that the document does not have.
#
# Seen 2026-11-29 with pysimdjson 7.0.2, json-stream 2.3.3 on Python 3.11.7, Linux x86-64:
#   pysimdjson lookup -> 1
#   pysimdjson at_pointer -> 1
#   pysimdjson as_dict -> {'a': 2, 'b': 0}
#   json-stream before -> 1
#   json-stream after -> 2
#   json module -> {'a': 2, 'b': 0}
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  --no-warn-conflicts --target "$dir/py" 'pysimdjson==7.0.2' 'json-stream==2.3.3'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import io
import json
import sys

import json_stream
import simdjson

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if got != wanted:
        changed.append(what)


TEXT = '{"a": 1, "b": 0, "a": 2}'
parsed = simdjson.Parser().parse(TEXT)
see("pysimdjson lookup", parsed["a"], 1)
see("pysimdjson at_pointer", parsed.at_pointer("/a"), 1)
see("pysimdjson as_dict", parsed.as_dict(), {"a": 2, "b": 0})

stream = json_stream.load(io.StringIO(TEXT), persistent=True)
see("json-stream before", stream["a"], 1)
list(stream.items())
see("json-stream after", stream["a"], 2)
see("json module", json.loads(TEXT), {"a": 2, "b": 0})

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

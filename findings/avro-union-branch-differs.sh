#!/usr/bin/env bash
# Package: avro 1.12.2, fastavro 1.13.1 (PyPI)
#
# Behaviour: For one value and one union schema the two Python libraries of Avro write different
# bytes. fastavro takes the first branch that fits: 1 in the union of double and int becomes the
# double 1.0. The package avro prefers the int. For the union of a map and a record, fastavro
# writes the map and avro the record.
#
# Guess: Both take the first branch of the union that fits, so the bytes are equal.
#
# Why it matters: A hash of the bytes, a comparison of two loads, and the types that a reader
# sees all depend on the library that wrote.
#
# Seen 2026-11-28 with avro 1.12.2, fastavro 1.13.1 on Python 3.11.7, Linux x86-64:
#   fastavro 1 -> 00000000000000f03f
#   avro 1 -> 0202
#   fastavro 1 -> 0002
#   avro 1 -> 0202
#   fastavro {'a': 1} -> 000202610200
#   avro {'a': 1} -> 0202
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'avro==1.12.2' 'fastavro==1.13.1'
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
import json

import avro.io
import avro.schema
import fastavro

record = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
cases = (
    (["double", "int"], 1, "00000000000000f03f", "0202"),
    (["int", "long"], 1, "0002", "0202"),
    ([{"type": "map", "values": "int"}, record], {"a": 1}, "000202610200", "0202"),
)
for schema, value, fast, plain in cases:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    see(f"fastavro {value}", buffer.getvalue().hex(), fast)
    buffer = io.BytesIO()
    writer = avro.io.DatumWriter(avro.schema.parse(json.dumps(schema)))
    writer.write(value, avro.io.BinaryEncoder(buffer))
    see(f"avro {value}", buffer.getvalue().hex(), plain)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

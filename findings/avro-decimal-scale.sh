#!/usr/bin/env bash
# Package: avro 1.12.2, fastavro 1.13.1 (PyPI)
#
# Behaviour: The Python package avro writes the digits of a Decimal and leaves its exponent out.
# With the scale 2, the value 1.5 is written as 15 hundredths and comes back as 0.15. Negative
# zero comes back as -0.02.
#
# Guess: The writer brings 1.5 to the scale 2, as fastavro does, and writes 150 hundredths.
#
# Why it matters: An amount that was typed with fewer decimals than the schema has is stored ten
# or a hundred times too small. No error is raised.
#
# Seen 2026-11-28 with avro 1.12.2, fastavro 1.13.1 on Python 3.11.7, Linux x86-64:
#   avro 1.50 -> 1.50
#   avro 1.5 -> 0.15
#   avro 2 -> 0.02
#   avro -0.00 -> -0.02
#   fastavro 1.50 -> 1.50
#   fastavro 1.5 -> 1.50
#   fastavro 2 -> 2.00
#   fastavro -0.00 -> 0.00
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
from decimal import Decimal

import avro.io
import avro.schema
import fastavro

schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
parsed = avro.schema.parse(json.dumps(schema))


def with_avro(value):
    buffer = io.BytesIO()
    avro.io.DatumWriter(parsed).write(value, avro.io.BinaryEncoder(buffer))
    buffer.seek(0)
    return avro.io.DatumReader(parsed).read(avro.io.BinaryDecoder(buffer))


def with_fastavro(value):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    buffer.seek(0)
    return fastavro.schemaless_reader(buffer, schema)


for text, wanted in (("1.50", "1.50"), ("1.5", "0.15"), ("2", "0.02"), ("-0.00", "-0.02")):
    see(f"avro {text}", with_avro(Decimal(text)), wanted)
for text, wanted in (("1.50", "1.50"), ("1.5", "1.50"), ("2", "2.00"), ("-0.00", "0.00")):
    see(f"fastavro {text}", with_fastavro(Decimal(text)), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

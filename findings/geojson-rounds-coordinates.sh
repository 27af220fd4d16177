#!/usr/bin/env bash
# Package: geojson 3.3.0 (PyPI)
#
# Behaviour: Parsing GeoJSON rounds every coordinate to six decimals. 13.123456789012 is
# 13.123457 after loads(), and is written so by dumps(), unless the precision is given as an
# argument of each object.
#
# Guess: A parser keeps the numbers of its input; rounding is something to ask for.
#
# Why it matters: A file that is read and written loses digits of a survey, and a query for the
# exact point finds nothing. In metres (another projection) nothing is seen; a plan in
# kilometres loses millimetres.
#
# Seen 2026-11-28 with geojson 3.3.0 on Python 3.11.7, Linux x86-64:
#   loads -> [13.123457, 52.5]
#   Point -> [13.123457, 52.5]
#   Point with precision=15 -> [13.123456789012, 52.5000004]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'geojson==3.3.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import geojson

text = '{"type": "Point", "coordinates": [13.123456789012, 52.5000004]}'
see("loads", geojson.loads(text)["coordinates"], [13.123457, 52.5])
see("Point", geojson.Point((13.123456789012, 52.5000004))["coordinates"], [13.123457, 52.5])
exact = geojson.Point((13.123456789012, 52.5000004), precision=15)["coordinates"]
see("Point with precision=15", exact, [13.123456789012, 52.5000004])

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

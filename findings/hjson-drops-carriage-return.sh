#!/usr/bin/env bash
# Package: hjson 3.1.0 (PyPI), hjson 3.2.2 (npm) (PyPI, npm)
#
# Behaviour: The Python package hjson writes a text with a carriage return as a text of many
# lines, without the carriage return. It reads 1.0, 1e3 and -0.0 as the ints 1, 1000 and 0. The
# npm package drops the carriage return too.
#
# Guess: What dumps() writes is what loads() reads, and a number with a point is a float.
#
# Why it matters: Settings and fixtures in Hjson lose bytes of texts and the types of numbers in
# a load and save.
#
# Seen 2026-11-28 with hjson 3.1.0 (PyPI), hjson 3.2.2 (npm) on Python 3.11.7 and Node 20.20.2,
# Linux x86-64:
#   dumps -> "{\n  a: '''xy'''\n}"
#   and back -> 'xy'
#   1.0 -> 1
#   1e3 -> 1000
#   -0.0 -> 0
#   1.5 -> 1.5
#   npm and back -> "xy"
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'hjson==3.1.0'
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  hjson@3.2.2
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import hjson

written = hjson.dumps({"a": "x\ry"})
see("dumps", repr(written), repr("{\n  a: '''xy'''\n}"))
see("and back", repr(hjson.loads(written)["a"]), "'xy'")
for text, wanted in (("1.0", "1"), ("1e3", "1000"), ("-0.0", "0"), ("1.5", "1.5")):
    see(text, repr(hjson.loads("{a: %s\n}" % text)["a"]), wanted)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const Hjson = require('hjson');
see('npm and back', JSON.stringify(Hjson.parse(Hjson.stringify({ a: 'x\ry' })).a), '"xy"');

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: jmespath 0.16.0 (npm), jmespath 1.1.0 (PyPI) (npm, PyPI)
#
# Behaviour: to_number() of JMESPath follows the number parser of the host language. In Node the
# empty text is 0 and 0x10 is 16, and in Python both are null. In Python 1_0 is 10 and 'nan' is a
# number, and in Node both are null.
#
# Guess: Both accept the numbers of JSON and give null for all other texts.
#
# Why it matters: A clean-up step that turns text fields into numbers fills empty fields with
# zeros in one language and leaves them out in the other.
#
# Seen 2026-11-28 with jmespath 0.16.0 (npm), jmespath 1.1.0 (PyPI) on Python 3.11.7 and Node
# 20.20.2, Linux x86-64:
#   Python '1e3' -> 1000.0
#   Python '' -> None
#   Python '0x10' -> None
#   Python '1_0' -> 10
#   Python 'nan' -> nan
#   Node '1e3' -> 1000
#   Node '' -> 0
#   Node '0x10' -> 16
#   Node '1_0' -> null
#   Node 'nan' -> null
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'jmespath==1.1.0'
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  jmespath@0.16.0
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import jmespath

for text, wanted in (("1e3", 1000.0), ("", None), ("0x10", None), ("1_0", 10), ("nan", "nan")):
    see(f"Python {text!r}", jmespath.search("to_number(a)", {"a": text}), wanted)

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

const jmespath = require('jmespath');
for (const [text, wanted] of [
  ['1e3', 1000],
  ['', 0],
  ['0x10', 16],
  ['1_0', null],
  ['nan', null],
]) {
  see(`Node '${text}'`, jmespath.search({ a: text }, 'to_number(a)'), wanted);
}

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

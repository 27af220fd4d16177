#!/usr/bin/env bash
# Package: rocksdict 0.3.29 (PyPI)
#
# Behaviour: rocksdict keeps integer keys in the order of their values, negative ones and those
# of 70 bits too. Its float keys are in the order of their bits: negative ones follow the
# positive ones, and the smallest is the last.
#
# Guess: Floats are in the order of their values, as the integers are.
#
# Why it matters: A range scan from -1.5 to 1.5 over keys of measured values finds nothing or the
# wrong part.
#
# Seen 2026-11-28 with rocksdict 0.3.29 on Python 3.11.7, Linux x86-64:
#   integers -> [-1180591620717411303424, -2, -1, 0, 1, 1180591620717411303424]
#   floats -> [0.0, 1.5, 100.0, -1.5, -2.5, -100.0]
#   from -1.5 on -> [-1.5, -2.5, -100.0]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'rocksdict==0.3.29'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import rocksdict

db = rocksdict.Rdict("db")
for key in (2**70, -(2**70), -2, -1, 0, 1, -100.0, -2.5, -1.5, 0.0, 1.5, 100.0):
    db[key] = True
keys = list(db.keys())
see("integers", [k for k in keys if isinstance(k, int)], [-(2**70), -2, -1, 0, 1, 2**70])
see("floats", [k for k in keys if isinstance(k, float)], [0.0, 1.5, 100.0, -1.5, -2.5, -100.0])
see(
    "from -1.5 on",
    [k for k in db.keys(from_key=-1.5) if isinstance(k, float)],
    [-1.5, -2.5, -100.0],
)
db.close()

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

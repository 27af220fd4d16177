#!/usr/bin/env bash
# Packages: dictdiffer 0.10.0, deepdiff 9.1.0 (PyPI)
#
# Behaviour: diff() of dictdiffer finds no difference between two documents whose 64-bit integers
# differ, because it compares them as doubles and with a relative tolerance. From 2^52 on neighbours
# are equal, and at 10^18 numbers that are 100 apart; a tolerance of 0 moves that to 2^53. It also
# finds none between 1 and True. deepdiff finds all of them.
#
# Guess: The tolerance, which the documentation gives for floats, leaves integers exact.
#
# Why it matters: Ids of messages and posts have 60 and more bits. A synchronization that sends what
# diff() finds does not send the new id.
#
# Seen 2026-11-29 with dictdiffer 0.10.0, deepdiff 9.1.0 on Python 3.11.7, Linux x86-64:
#   dictdiffer, 1000000000000000 and 1 more -> [('change', 'id', (1000000000000000, 1000000000000001))]
#   dictdiffer, 1450000000000000001 and 1 more -> []
#   dictdiffer, 1000000000000000000 and 100 more -> []
#   dictdiffer, 1 and True -> []
#   dictdiffer, tolerance 0 -> []
#   deepdiff, 1450000000000000001 and 1 more -> ['values_changed']
#   deepdiff, 1 and True -> ['type_changes']
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  --no-warn-conflicts --target "$dir/py" 'dictdiffer==0.10.0' 'deepdiff==9.1.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

from deepdiff import DeepDiff
from dictdiffer import diff

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if got != wanted:
        changed.append(what)


def pair(number, more):
    return {"id": number}, {"id": number + more}


SMALL, POST, ROUND = 10**15, 1450000000000000001, 10**18
see(f"dictdiffer, {SMALL} and 1 more", list(diff(*pair(SMALL, 1))), [("change", "id", (SMALL, SMALL + 1))])
see(f"dictdiffer, {POST} and 1 more", list(diff(*pair(POST, 1))), [])
see(f"dictdiffer, {ROUND} and 100 more", list(diff(*pair(ROUND, 100))), [])
see("dictdiffer, 1 and True", list(diff({"id": 1}, {"id": True})), [])
see("dictdiffer, tolerance 0", list(diff(*pair(POST, 1), tolerance=0)), [])
see(f"deepdiff, {POST} and 1 more", list(DeepDiff(*pair(POST, 1))), ["values_changed"])
see("deepdiff, 1 and True", list(DeepDiff({"id": 1}, {"id": True})), ["type_changes"])

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

#!/usr/bin/env bash
# Package: diskcache 5.6.3 (PyPI)
#
# Behaviour: diskcache returns None for a stored NaN, while the key is there. NaN in a list comes
# back. Its keys 1 and 1.0 are one key and (1, 2) and (1.0, 2) are two, though they are equal in
# Python.
#
# Guess: A float comes back as it was, and equal keys are one key, as in a dict.
#
# Why it matters: A program that takes None for a miss computes the value again each time. A key
# that was built from floats finds an entry only in some shapes.
#
# Seen 2026-11-28 with diskcache 5.6.3 on Python 3.11.7, Linux x86-64:
#   nan -> None
#   the key is in -> True
#   [nan] -> [nan]
#   keys -> ["'list'", "'v'", '(1, 2)', '(1.0, 2)', '1']
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'diskcache==5.6.3'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import diskcache

cache = diskcache.Cache("cache")
cache["v"] = float("nan")
see("nan", cache["v"], None)
see("the key is in", "v" in cache, True)
cache["list"] = [float("nan")]
see("[nan]", cache["list"], "[nan]")
for key in (1, 1.0, (1, 2), (1.0, 2)):
    cache[key] = repr(key)
see("keys", sorted(map(repr, cache)), ["'list'", "'v'", "(1, 2)", "(1.0, 2)", "1"])
cache.close()

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

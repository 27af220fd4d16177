#!/usr/bin/env bash
# Package: ndjson 0.3.1 (PyPI)
#
# Behaviour: A text with U+2028, U+0085 or another line end of Unicode comes back with a comma
# in its place. JSON takes these characters raw in a text, and the package writes them so
# itself.
#
# Guess: Its own output is read back as it was.
#
# Why it matters: A file of documents is loaded without an error, and texts that were pasted
# from a word processor have changed.
#
# Seen 2026-11-28 with ndjson 0.3.1 on Python 3.11.7, Linux x86-64:
#   U+2028 -> one,two
#   U+0085 -> one,two
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'ndjson==0.3.1'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import ndjson

for shown, end in (("U+2028", "\u2028"), ("U+0085", "\x85")):
    written = ndjson.dumps([{"text": f"one{end}two"}], ensure_ascii=False)
    see(shown, ndjson.loads(written)[0]["text"], "one,two")

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

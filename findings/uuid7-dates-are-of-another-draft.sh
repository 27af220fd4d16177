#!/usr/bin/env bash
# Package: uuid7 0.1.0, uuid_utils 1.2.0 (PyPI)
#
# Behaviour: The package uuid7 follows an early draft: the first 36 bits are seconds. Read as
# RFC 9562 says, by milliseconds in 48 bits, its identifiers of today are of a date after the
# year 2200; they say version 7 all the same.
#
# Guess: Version 7 has one layout, and two packages agree about the time.
#
# Why it matters: Identifiers of both kinds in one collection are not in the order of time: all
# of one package follow all of the other. A date that is taken from the identifier is wrong by
# two centuries.
#
# Seen 2026-11-28 with uuid7 0.1.0, uuid_utils 1.2.0 on Python 3.11.7, Linux x86-64:
#   version -> 7
#   year of one of 2026 -> 2202
#   one of 2026 sorts before one of uuid_utils -> False
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --disable-pip-version-check \
  --root-user-action=ignore --no-warn-conflicts --target "$dir/py" 'uuid7==0.1.0' 'uuid_utils==1.2.0'
cd "$dir"
PYTHONPATH="$dir/py" python3 - <<'PY'
import sys

changed = []


def see(what, got, wanted):
    """Prints what was seen, and notes it when it is not what the header says."""
    print(f"{what} -> {got}")
    if str(got) != str(wanted):
        changed.append(what)


import datetime
import uuid

import uuid_utils
from uuid_extensions import uuid7


def year(identifier):
    """The year by RFC 9562: the first 48 bits are milliseconds."""
    moment = datetime.timedelta(milliseconds=identifier.int >> 80)
    return (datetime.datetime(1970, 1, 1) + moment).year


early = uuid7(1_790_000_000 * 1_000_000_000)
today = uuid.UUID(int=uuid_utils.uuid7().int)
see("version", early.version, 7)
see("year of one of 2026", year(early), 2202)
see("one of 2026 sorts before one of uuid_utils", early.int < today.int, False)

if changed:
    sys.exit(f"the behaviour has changed: {changed}")
PY

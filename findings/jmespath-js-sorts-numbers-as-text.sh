#!/usr/bin/env bash
# Package: jmespath 0.16.0 (npm), jmespath 1.1.0 (PyPI) (npm, PyPI)
#
# Behaviour: sort() of JMESPath on numbers gives 1, 10, 9 in the npm package and 1, 9, 10 in the
# Python package. sort_by() of the npm package sorts numbers by value.
#
# Expected: Both sort numbers by value: the language says so.
#
# Why it matters: A query that picks the last of the sorted values (the newest version, the
# largest size) gives another answer after a port from Python to Node.
#
# Seen 2026-11-28 with jmespath 0.16.0 (npm), jmespath 1.1.0 (PyPI) on Python 3.11.7 and Node
# 20.20.2, Linux x86-64:
#   Python sort -> [1, 9, 10]
#   Python largest -> 10
#   Node sort -> 1,10,9
#   Node largest -> 9
#   Node sort_by -> 1,9,10
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

see("Python sort", jmespath.search("sort(a)", {"a": [10, 9, 1]}), [1, 9, 10])
see("Python largest", jmespath.search("sort(a)[-1]", {"a": [10, 9, 1]}), 10)

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
see('Node sort', jmespath.search({ a: [10, 9, 1] }, 'sort(a)'), '1,10,9');
see('Node largest', jmespath.search({ a: [10, 9, 1] }, 'sort(a)[-1]'), 9);
see(
  'Node sort_by',
  jmespath.search({ a: [{ b: 10 }, { b: 9 }, { b: 1 }] }, 'sort_by(a, &b)[].b'),
  '1,9,10',
);

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: rfc6902 5.4.0, fast-json-patch 3.1.1 (npm)
#
# Behaviour: For two documents that differ in a Date, rfc6902 makes an empty patch.
# fast-json-patch makes one add operation for each letter of the date text, below the path of the
# field.
#
# Guess: Both replace the field with the new date.
#
# Why it matters: A change log that is built from such patches misses changes of dates, or grows
# to 24 operations for one field.
#
# Seen 2026-11-28 with rfc6902 5.4.0, fast-json-patch 3.1.1 on Node 20.20.2, Linux x86-64:
#   rfc6902 -> []
#   fast-json-patch, operations -> 24
#   fast-json-patch, the first -> {"op":"add","path":"/at/0","value":"2"}
#   rfc6902 on plain JSON -> 1
#   fast-json-patch on plain JSON -> 1
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  rfc6902@5.4.0 fast-json-patch@3.1.1
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { createPatch } = require('rfc6902');
const { compare } = require('fast-json-patch');
const before = { at: new Date('2020-01-01T00:00:00Z') };
const after = { at: new Date('2021-06-05T00:00:00Z') };
see('rfc6902', JSON.stringify(createPatch(before, after)), '[]');
const patch = compare(before, after);
see('fast-json-patch, operations', patch.length, 24);
see(
  'fast-json-patch, the first',
  JSON.stringify(patch[0]),
  '{"op":"add","path":"/at/0","value":"2"}',
);
const plain = (document) => JSON.parse(JSON.stringify(document));
see('rfc6902 on plain JSON', createPatch(plain(before), plain(after)).length, 1);
see('fast-json-patch on plain JSON', compare(plain(before), plain(after)).length, 1);

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

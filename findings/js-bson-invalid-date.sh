#!/usr/bin/env bash
# Package: bson 7.3.4 (npm)
#
# Behaviour: The npm package bson writes an invalid Date as the first moment of 1970.
# EJSON.stringify() writes it as a $numberLong with the text NaN, which EJSON.parse() of the same
# package refuses.
#
# Guess: serialize() raises an error, or the date becomes null as in JSON.stringify().
#
# Why it matters: A date that failed to parse becomes a real date in the database, and looks like
# a true date of 1970. The dump of the same document in extended JSON cannot be loaded.
#
# Seen 2026-11-28 with bson 7.3.4 on Node 20.20.2, Linux x86-64:
#   JSON -> {"d":null}
#   BSON and back -> 1970-01-01T00:00:00.000Z
#   extended JSON -> {"d":{"$date":{"$numberLong":"NaN"}}}
#   extended JSON and back -> $numberLong string "NaN" is in an invalid format
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  bson@7.3.4
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { serialize, deserialize, EJSON } = require('bson');
const broken = { d: new Date('no date') };
see('JSON', JSON.stringify(broken), '{"d":null}');
see('BSON and back', deserialize(serialize(broken)).d.toISOString(), '1970-01-01T00:00:00.000Z');
const text = EJSON.stringify(broken);
see('extended JSON', text, '{"d":{"$date":{"$numberLong":"NaN"}}}');
let got;
try {
  got = EJSON.parse(text);
} catch (error) {
  got = error.message;
}
see('extended JSON and back', got, '$numberLong string "NaN" is in an invalid format');

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: csvtojson 2.0.14 (npm)
#
# Behaviour: A column a beside a column a.b is lost without a word, and of two columns a the
# first. With checkType, 31e4659 (the beginning of a hash) becomes Infinity, which JSON cannot
# say, and 00501 becomes 501.
#
# Guess: Names that clash are an error or stay as they are; what is no finite number stays text.
#
# Why it matters: A conversion of an exported table drops values, and the loss is in no message.
#
# Seen 2026-11-28 with csvtojson 2.0.14 on Node 20.20.2, Linux x86-64:
#   a beside a.b -> [{"a":{"b":"2"}}]
#   a twice -> [{"a":"2"}]
#   hash -> Infinity
#   zip -> 501
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  csvtojson@2.0.14
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const csvtojson = require('csvtojson');
(async () => {
  const text = (rows) => JSON.stringify(rows);
  see('a beside a.b', text(await csvtojson().fromString('a,a.b\n1,2\n')), '[{"a":{"b":"2"}}]');
  see('a twice', text(await csvtojson().fromString('a,a\n1,2\n')), '[{"a":"2"}]');
  const [row] = await csvtojson({ checkType: true }).fromString('hash,zip\n31e4659,00501\n');
  see('hash', row.hash, 'Infinity');
  see('zip', row.zip, 501);
  end();
})();

// Fails if something was not as the header says.
function end() {
  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
}
JS

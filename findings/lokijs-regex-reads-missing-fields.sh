#!/usr/bin/env bash
# Package: lokijs 1.5.12 (npm)
#
# Behaviour: $regex of LokiJS turns each value into text first. A pattern finds the word
# undefined in documents that have no such field, null in null, true in booleans, and [object
# Object] in documents.
#
# Guess: A pattern is compared with strings only.
#
# Why it matters: A search for a word such as "object" or "true" in a free text field returns
# documents that hold no text at all.
#
# Seen 2026-11-28 with lokijs 1.5.12 on Node 20.20.2, Linux x86-64:
#   /undef/ -> missing
#   /null/ -> null
#   /true/ -> true
#   /object/ -> document
#   /^1/ -> number
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  lokijs@1.5.12
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const Loki = require('lokijs');
const things = new Loki('memory').addCollection('things');
things.insert([
  { n: 'missing' },
  { n: 'null', a: null },
  { n: 'true', a: true },
  { n: 'document', a: { x: 1 } },
  { n: 'number', a: 12 },
  { n: 'text', a: 'plain' },
]);
for (const [pattern, wanted] of [
  [/undef/, 'missing'],
  [/null/, 'null'],
  [/true/, 'true'],
  [/object/, 'document'],
  [/^1/, 'number'],
]) {
  see(
    `${pattern}`,
    things.find({ a: { $regex: pattern } }).map((d) => d.n),
    wanted,
  );
}

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

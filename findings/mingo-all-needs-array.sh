#!/usr/bin/env bash
# Package: mingo 7.2.7, sift 17.1.4 (npm)
#
# Behaviour: mingo finds nothing with $all when the field is a plain value: {a: {$all: [1]}} does
# not match {a: 1}. sift matches it, and with an empty list $all of sift matches every document,
# those without the field too.
#
# Guess: $all with one value is the same as equality, and $all of nothing matches nothing, as in
# MongoDB.
#
# Why it matters: Two engines for one filter language disagree in both directions. A filter that
# a form builds with zero or one choices shows it first.
#
# Seen 2026-11-28 with mingo 7.2.7, sift 17.1.4 on Node 20.20.2, Linux x86-64:
#   mingo {"a":{"$all":[1]}} -> list
#   sift {"a":{"$all":[1]}} -> plain,list
#   mingo {"a":{"$all":[]}} -> 
#   sift {"a":{"$all":[]}} -> plain,list,none
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  mingo@7.2.7 sift@17.1.4
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { Query } = require('mingo');
const sift = require('sift').default;
const documents = [{ _id: 'plain', a: 1 }, { _id: 'list', a: [1] }, { _id: 'none' }];
for (const [filter, mingoWants, siftWants] of [
  [{ a: { $all: [1] } }, 'list', 'plain,list'],
  [{ a: { $all: [] } }, '', 'plain,list,none'],
]) {
  const text = JSON.stringify(filter);
  see(
    `mingo ${text}`,
    new Query(filter)
      .find(documents)
      .all()
      .map((d) => d._id),
    mingoWants,
  );
  see(
    `sift ${text}`,
    documents.filter(sift(filter)).map((d) => d._id),
    siftWants,
  );
}

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

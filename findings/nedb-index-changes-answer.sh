#!/usr/bin/env bash
# Package: @seald-io/nedb 4.1.2 (npm)
#
# Behaviour: NeDB looks into arrays in arrays when it scans, and only one level deep when it uses
# an index. The filter {a: 1} finds {a: [[1]]} without an index on a and does not find it with
# one.
#
# Guess: An index makes a query faster and does not change its answer.
#
# Why it matters: A query that was tested on a small collection loses documents on the day an
# index is added.
#
# Seen 2026-11-28 with @seald-io/nedb 4.1.2 on Node 20.20.2, Linux x86-64:
#   scan {"a":1} -> [1,5] [[1]]
#   scan {"a":{"$lt":2}} -> [1,5] [[1]]
#   scan {"a":{"$in":[1]}} -> [1,5] [[1]]
#   index {"a":1} -> [1,5]
#   index {"a":{"$lt":2}} -> [1,5]
#   index {"a":{"$in":[1]}} -> [1,5]
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  @seald-io/nedb@4.1.2
cd "$dir"
node - <<'JS'
(async () => {
  const changed = [];
  // Prints what was seen, and notes it when it is not what the header says.
  function see(what, got, wanted) {
    console.log(`${what} -> ${got}`);
    if (String(got) !== String(wanted)) changed.push(what);
  }

  const Datastore = require('@seald-io/nedb');
  for (const indexed of [false, true]) {
    const db = new Datastore();
    if (indexed) await db.ensureIndexAsync({ fieldName: 'a' });
    await db.insertAsync([{ a: [1, 5] }, { a: [[1]] }, { a: 2 }]);
    for (const filter of [{ a: 1 }, { a: { $lt: 2 } }, { a: { $in: [1] } }]) {
      const found = (await db.findAsync(filter))
        .map((d) => JSON.stringify(d.a))
        .sort()
        .join(' ');
      see(
        `${indexed ? 'index' : 'scan'} ${JSON.stringify(filter)}`,
        found,
        indexed ? '[1,5]' : '[1,5] [[1]]',
      );
    }
  }

  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
})();
JS

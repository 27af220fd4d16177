#!/usr/bin/env bash
# Package: mingo 7.2.7 (npm)
#
# Behaviour: mingo adds one month to 31 January and gets 3 March: the day runs over, as in
# setMonth() of JavaScript. Its $week gives 53 or 54 for days of the first week of January.
#
# Guess: $dateAdd stops at the last day of February, and $week of the first Sunday of the year is
# 1, as in MongoDB.
#
# Why it matters: A pipeline that runs in the browser on mingo and on the server on MongoDB puts
# the same documents in different months and weeks.
#
# Seen 2026-11-28 with mingo 7.2.7 on Node 20.20.2, Linux x86-64:
#   2021-01-31 and a month -> 2021-03-03T00:00:00.000Z
#   2020-02-29 and a year -> 2021-03-01T00:00:00.000Z
#   week of Saturday 2021-01-02 -> 53
#   week of Sunday 2021-01-03 -> 54
#   week of Sunday 2021-01-10 -> 2
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  mingo@7.2.7
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { Aggregator } = require('mingo');
const run = (expression, d) =>
  new Aggregator([{ $project: { v: expression } }]).run([{ d: new Date(d) }])[0].v;
const month = { $dateAdd: { startDate: '$d', unit: 'month', amount: 1 } };
const year = { $dateAdd: { startDate: '$d', unit: 'year', amount: 1 } };
see('2021-01-31 and a month', run(month, '2021-01-31').toISOString(), '2021-03-03T00:00:00.000Z');
see('2020-02-29 and a year', run(year, '2020-02-29').toISOString(), '2021-03-01T00:00:00.000Z');
see('week of Saturday 2021-01-02', run({ $week: '$d' }, '2021-01-02'), 53);
see('week of Sunday 2021-01-03', run({ $week: '$d' }, '2021-01-03'), 54);
see('week of Sunday 2021-01-10', run({ $week: '$d' }, '2021-01-10'), 2);

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: luxon 3.7.2, date-fns-tz 3.2.0 (npm)
#
# Behaviour: The hour from 1 to 2 happens twice on the night when New York leaves summer time.
# fromISO() of luxon picks the first or the second one by the day on which the program runs: the
# second in winter, the first in summer. date-fns-tz picks the first always. For the hour that is
# skipped in March the two are an hour apart.
#
# Expected: A library picks one of the two by a fixed rule.
#
# Why it matters: The same import of local times stores other dates in July than in January, and
# two services that share documents differ by an hour.
#
# Seen 2026-11-28 with luxon 3.7.2, date-fns-tz 3.2.0 on Node 20.20.2, Linux x86-64:
#   luxon on 2021-01-15 -> 2021-11-07T06:30:00.000Z
#   luxon on 2021-07-15 -> 2021-11-07T05:30:00.000Z
#   date-fns-tz -> 2021-11-07T05:30:00.000Z
#   luxon, skipped hour -> 2021-03-14T07:30:00.000Z
#   date-fns-tz, skipped hour -> 2021-03-14T06:30:00.000Z
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  luxon@3.7.2 date-fns-tz@3.2.0 date-fns@4.1.0
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const { DateTime, Settings } = require('luxon');
const { fromZonedTime } = require('date-fns-tz');
const zone = 'America/New_York';
const utc = (text) => DateTime.fromISO(text, { zone }).toUTC().toISO();
for (const [today, wanted] of [
  ['2021-01-15', '2021-11-07T06:30:00.000Z'],
  ['2021-07-15', '2021-11-07T05:30:00.000Z'],
]) {
  Settings.now = () => Date.parse(today);
  see(`luxon on ${today}`, utc('2021-11-07T01:30:00'), wanted);
}
see(
  'date-fns-tz',
  fromZonedTime('2021-11-07T01:30:00', zone).toISOString(),
  '2021-11-07T05:30:00.000Z',
);
see('luxon, skipped hour', utc('2021-03-14T02:30:00'), '2021-03-14T07:30:00.000Z');
see(
  'date-fns-tz, skipped hour',
  fromZonedTime('2021-03-14T02:30:00', zone).toISOString(),
  '2021-03-14T06:30:00.000Z',
);

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: charwise 3.0.1, bytewise 1.1.0 (npm)
#
# Behaviour: Texts within arrays are not ordered by their characters: 'a ' is before 'a', and
# 'a!' after 'a"'. Texts with the characters 0 and 1 do not come back. bytewise, whose order it
# promises, has all of them right.
#
# Guess: Its keys sort as bytewise's do; control characters cost an escape.
#
# Why it matters: A range over ('a') misses keys, or returns those of another prefix.
#
# Seen 2026-11-28 with charwise 3.0.1, bytewise 1.1.0 on Node 20.20.2, Linux x86-64:
#   charwise -> a  | a | a" | a! | b
#   bytewise -> a | a  | a! | a" | b
#   U+0001 comes back by charwise, by bytewise -> false,true
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  charwise@3.0.1 bytewise@1.1.0
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const charwise = require('charwise');
const bytewise = require('bytewise');
const texts = ['a', 'a ', 'a!', 'a"', 'b'].map((text) => [text]);
const by = (encode) =>
  [...texts].sort((one, other) => (encode(one) < encode(other) ? -1 : 1)).map((key) => key[0]).join(' | ');
see('charwise', by((key) => charwise.encode(key)), 'a  | a | a" | a! | b');
see('bytewise', by((key) => bytewise.encode(key).toString('hex')), 'a | a  | a! | a" | b');
const text = 'a\u0001';
const same = (codec) => codec.decode(codec.encode([text]))[0] === text;
see('U+0001 comes back by charwise, by bytewise', [same(charwise), same(bytewise)], 'false,true');

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

#!/usr/bin/env bash
# Package: jsondiffpatch 0.7.7, microdiff 1.6.0 (npm)
#
# Behaviour: jsondiffpatch finds no difference between two BigInts. It patches a RegExp with a
# text. A document that has a field named _t with the text a gives a delta that its own patch()
# takes for the delta of an array and refuses. microdiff sees the change of the BigInt and none
# between two Maps.
#
# Expected: A changed BigInt is a change, and each delta can be applied to the document that it was
# made from.
#
# Why it matters: Drivers give 64-bit integers as BigInt: a history that is built on such a diff
# misses each change of a counter. A short field name is enough to break it.
#
# Seen 2026-11-28 with jsondiffpatch 0.7.7, microdiff 1.6.0 on Node 20.20.2, Linux x86-64:
#   BigInt -> undefined
#   microdiff, BigInt -> 1
#   microdiff, Map -> 0
#   RegExp -> string
#   {"t":"a"} patched -> {"t":"b"}
#   {"_t":"a"} patched -> error
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  jsondiffpatch@0.7.7 microdiff@1.6.0
cd "$dir"
node - <<'JS'
(async () => {
  const changed = [];
  // Prints what was seen, and notes it when it is not what the header says.
  function see(what, got, wanted) {
    console.log(`${what} -> ${got}`);
    if (String(got) !== String(wanted)) changed.push(what);
  }

  const { diff, patch, clone } = await import('jsondiffpatch');
  const { default: microdiff } = await import('microdiff');
  see('BigInt', diff({ n: 5n }, { n: 6n }), 'undefined');
  see('microdiff, BigInt', microdiff({ n: 5n }, { n: 6n }).length, 1);
  see('microdiff, Map', microdiff({ n: new Map([[1, 2]]) }, { n: new Map([[1, 3]]) }).length, 0);
  const patterns = [{ r: /x/ }, { r: /y/ }];
  see('RegExp', typeof patch(clone(patterns[0]), diff(...patterns)).r, 'string');
  // The library prints an object of its own before it raises the error.
  const log = console.log;
  console.log = (text) => typeof text === 'string' && log(text);
  for (const [before, after, wanted] of [
    [{ t: 'a' }, { t: 'b' }, '{"t":"b"}'],
    [{ _t: 'a' }, { _t: 'b' }, 'error'],
  ]) {
    let got;
    try {
      got = JSON.stringify(patch(clone(before), diff(before, after)));
    } catch (error) {
      got = 'error';
    }
    see(`${JSON.stringify(before)} patched`, got, wanted);
  }

  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
})();
JS

#!/usr/bin/env bash
# Package: superjson 2.2.7 (npm)
#
# Behaviour: superjson writes a Buffer of Node as a typed array named Buffer, and its own parse()
# refuses that text. A Uint8Array comes back. An ArrayBuffer comes back as an empty object, and
# an invalid Date as null.
#
# Guess: What stringify() accepts is what parse() returns; Buffer is a Uint8Array.
#
# Why it matters: Binary fields of documents are Buffers in Node. The error appears at the
# reader, when the text may be all that is left.
#
# Seen 2026-11-28 with superjson 2.2.7 on Node 20.20.2, Linux x86-64:
#   Uint8Array -> Uint8Array 104,105
#   Buffer -> Trying to deserialize unknown typed array
#   ArrayBuffer -> Object [object Object]
#   invalid Date -> null
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  superjson@2.2.7
cd "$dir"
node - <<'JS'
(async () => {
  const changed = [];
  // Prints what was seen, and notes it when it is not what the header says.
  function see(what, got, wanted) {
    console.log(`${what} -> ${got}`);
    if (String(got) !== String(wanted)) changed.push(what);
  }

  const { default: superjson } = await import('superjson');
  for (const [name, value, wanted] of [
    ['Uint8Array', new Uint8Array([104, 105]), 'Uint8Array 104,105'],
    ['Buffer', Buffer.from('hi'), 'Trying to deserialize unknown typed array'],
    ['ArrayBuffer', new ArrayBuffer(2), 'Object [object Object]'],
    ['invalid Date', new Date('no date'), 'null'],
  ]) {
    const text = superjson.stringify({ v: value });
    let got;
    try {
      const back = superjson.parse(text).v;
      got = back === null ? 'null' : `${back.constructor.name} ${back}`;
    } catch (error) {
      got = error.message;
    }
    see(name, got, wanted);
  }

  if (changed.length) {
    console.error('the behaviour has changed:', changed);
    process.exit(1);
  }
})();
JS

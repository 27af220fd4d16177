#!/usr/bin/env bash
# Package: jsonpath 1.3.0, jsonpath-plus 10.4.0, json-p3 2.3.1 (npm)
#
# Behaviour: The filter [?(@.a)] asks whether a exists (RFC 9535, as json-p3 does it). jsonpath
# and jsonpath-plus leave out documents whose a is 0, false, null or empty. The slice [::-1]
# reverses a list in jsonpath and is empty in jsonpath-plus.
#
# Guess: Existence is what the filter asks for in all three; a slice with a negative step is the
# same, too.
#
# Why it matters: A path that selects the documents with a field selects fewer of them,
# depending on the library.
#
# Seen 2026-11-28 with jsonpath 1.3.0, jsonpath-plus 10.4.0, json-p3 2.3.1 on Node 20.20.2, Linux x86-64:
#   jsonpath -> 1
#   jsonpath-plus -> 1
#   json-p3 -> 0 false null "" 1
#   jsonpath [::-1] -> 3,2,1
#   jsonpath-plus [::-1] -> 
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
  jsonpath@1.3.0 jsonpath-plus@10.4.0 json-p3@2.3.1
cd "$dir"
node - <<'JS'
const changed = [];
// Prints what was seen, and notes it when it is not what the header says.
function see(what, got, wanted) {
  console.log(`${what} -> ${got}`);
  if (String(got) !== String(wanted)) changed.push(what);
}

const jsonpath = require('jsonpath');
const { JSONPath } = require('jsonpath-plus');
const { query } = require('json-p3');
const documents = [{ a: 0 }, { a: false }, { a: null }, { a: '' }, { a: 1 }, { b: 1 }];
const found = (list) => list.map((document) => JSON.stringify(document.a)).join(' ');
see('jsonpath', found(jsonpath.query(documents, '$[?(@.a)]')), '1');
see('jsonpath-plus', found(JSONPath({ path: '$[?(@.a)]', json: documents })), '1');
see('json-p3', found(query('$[?@.a]', documents).values()), '0 false null "" 1');
see('jsonpath [::-1]', jsonpath.query([1, 2, 3], '$[::-1]'), '3,2,1');
see('jsonpath-plus [::-1]', JSONPath({ path: '$[::-1]', json: [1, 2, 3] }), '');

if (changed.length) {
  console.error('the behaviour has changed:', changed);
  process.exit(1);
}
JS

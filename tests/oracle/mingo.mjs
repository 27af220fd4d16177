// Runs the cases of this folder on mingo: reads one case per line, and prints its result or its error.
import { createRequire } from "node:module";
import readline from "node:readline";

const require = createRequire(process.argv[2] + "/");
const { Aggregator, Query, ProcessingMode, updateOne } = require("mingo");

// Extended JSON to JavaScript's values, and back. A number is a double on the way back.
function read(value) {
  if (Array.isArray(value)) return value.map(read);
  if (value === null || typeof value !== "object") return value;
  if ("$numberDouble" in value) return Number(value.$numberDouble);
  if ("$date" in value) return new Date(Number(value.$date.$numberLong));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, read(inner)]));
}

function write(value) {
  if (value === undefined) return null;
  if (typeof value === "number") return { $numberDouble: Object.is(value, -0) ? "0" : String(value) };
  if (typeof value === "bigint") return { $numberLong: String(value) };
  if (value instanceof Date) return { $date: { $numberLong: String(value.getTime()) } };
  if (value instanceof RegExp) return { $regex: String(value) };
  if (Array.isArray(value)) return value.map(write);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(fields.map(([key, inner]) => [key, write(inner)]));
}

function run(line) {
  const test = read(JSON.parse(line));
  const collections = { c: test.docs, d: test.other ?? [] };
  const options = {
    idKey: "_id",
    processingMode: ProcessingMode.CLONE_ALL,
    failOnError: true,
    collectionResolver: (name) => collections[name] ?? [],
  };
  if (test.pipeline) return new Aggregator(test.pipeline, options).run(test.docs);
  if (test.update) {
    updateOne(test.docs, test.filter, test.update, {}, options);
    return test.docs;
  }
  return new Query(test.filter, options).find(test.docs, test.projection ?? {}).all();
}

console.log = console.warn = () => {};
for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { result: write(run(line)) };
  } catch (error) {
    const text = String(error?.message ?? error);
    const lacks = /(?:operator )?'?(\$\w+)'? is not registered|unregistered \w+ operator '?(\$\w+)|unknown (?:query )?operator '?(\$\w+)/.exec(text);
    answer = lacks ? { lacks: lacks[1] ?? lacks[2] ?? lacks[3] } : { error: text };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}

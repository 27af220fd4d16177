// What is typed into mongosh: each line is evaluated by the shell itself, and its output compared.
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { equal, fails, ok, runAll, step } from './steps.mjs';

const run = promisify(execFile);
const shell = new URL('./node_modules/mongosh/bin/mongosh.js', import.meta.url).pathname;
const home = mkdtempSync(join(process.env.SCRATCH, 'home-'));

async function mongosh(...words) {
  const env = { ...process.env, HOME: home };
  return (await run(process.execPath, [shell, process.env.MONGODB_URI, '--quiet', ...words], { env })).stdout.trim();
}

// The lines of one script: an expression, and what it prints as JSON.
const lines = [
  ['db.getSiblingDB("clients_mongosh").dropDatabase().ok', 1],
  ['db.getName()', 'clients_mongosh'],
  ['db.pets.insertOne({_id: 1, name: "rex", age: 3}).insertedId', 1],
  ['db.pets.insertMany([{_id: 2, name: "tom"}, {_id: 3, name: "ada", l: [1, 2, 3]}]).acknowledged', true],
  ['db.pets.find().sort({_id: -1}).limit(2).toArray().map(d => d._id)', [3, 2]],
  ['db.pets.findOne({name: /^R/i}).age', 3],
  ['db.pets.find({_id: {$gt: 1}}, {name: 1, _id: 0}).toArray()', [{ name: 'tom' }, { name: 'ada' }]],
  ['db.pets.updateOne({_id: 1}, {$inc: {age: 1}}).modifiedCount', 1],
  ['db.pets.updateMany({}, {$set: {x: NumberLong(5)}}).matchedCount', 3],
  ['db.pets.replaceOne({_id: 9}, {r: 1}, {upsert: true}).insertedId', 9],
  ['db.pets.findOneAndUpdate({_id: 9}, {$set: {r: 2}}, {returnNewDocument: true}).r', 2],
  ['db.pets.findAndModify({query: {_id: 9}, remove: true}).r', 2],
  ['db.pets.countDocuments({x: 5})', 3],
  ['db.pets.estimatedDocumentCount()', 3],
  ['db.pets.distinct("name").sort()', ['ada', 'rex', 'tom']],
  ['db.pets.aggregate([{$unwind: "$l"}, {$group: {_id: null, s: {$sum: "$l"}}}]).toArray()', [{ _id: null, s: 6 }]],
  ['db.pets.bulkWrite([{insertOne: {document: {_id: 5}}}, {deleteOne: {filter: {_id: 5}}}]).deletedCount', 1],
  ['db.pets.createIndex({name: 1}, {unique: true})', 'name_1'],
  ['db.pets.getIndexes().map(i => i.name)', ['_id_', 'name_1']],
  ['db.pets.getIndexKeys()', [{ _id: 1 }, { name: 1 }]],
  ['code(() => db.pets.insertOne({name: "rex"}))', 11000],
  ['db.pets.find({name: "rex"}).explain().ok', 1],
  ['db.pets.explain("executionStats").find({name: "rex"}).finish().executionStats.nReturned', 1],
  ['db.pets.dropIndex("name_1").ok', 1],
  ['db.createCollection("made", {validator: {a: {$exists: true}}}).ok', 1],
  ['code(() => db.made.insertOne({b: 1}))', 121],
  ['db.createView("v", "pets", [{$match: {_id: 1}}]).ok', 1],
  ['db.v.find().toArray().length', 1],
  ['db.getCollectionNames().filter(n => !n.startsWith("system"))', ['made', 'pets', 'v']],
  ['db.getCollectionInfos({name: "v"})[0].type', 'view'],
  ['db.pets.stats().count', 3],
  ['db.pets.dataSize() >= 0', true],
  ['db.pets.totalIndexSize() >= 0', true],
  ['db.pets.isCapped()', false],
  ['db.pets.validate().valid', true],
  ['db.stats().db', 'clients_mongosh'],
  ['db.version().split(".").length', 3],
  ['db.hello().isWritablePrimary', true],
  ['db.serverStatus().ok', 1],
  ['db.hostInfo().ok', 1],
  ['db.currentOp().ok', 1],
  ['db.adminCommand({listDatabases: 1}).databases.some(d => d.name === "clients_mongosh")', true],
  ['db.getMongo().getDBNames().includes("clients_mongosh")', true],
  ['code(() => db.runCommand({nonsense: 1, x: 1}))', 59],
  ['db.made.renameCollection("renamed").ok', 1],
  ['db.renamed.drop()', true],
  ['(() => { const c = db.pets.find().batchSize(2); c.next(); c.close(); return 1; })()', 1],
  ['db.pets.insertOne({_id: "d", at: ISODate("2026-01-02"), n: NumberDecimal("1.5"), o: ObjectId(), b: BinData(0, "AAE="), u: UUID()}).insertedId', 'd'],
  ['db.pets.findOne({_id: "d"}).at.toISOString()', '2026-01-02T00:00:00.000Z'],
  ['db.pets.find().collation({locale: "en", strength: 1}).sort({name: 1}).toArray().length', 4],
  ['(s = db.getMongo().startSession(), t = s.getDatabase("clients_mongosh").pets, t.countDocuments({}))', 4],
  ['(s.startTransaction(), t.insertOne({_id: "t"}).insertedId)', 't'],
  ['[t.countDocuments({}), t.find().batchSize(2).toArray().length, db.pets.countDocuments({})]', [5, 5, 4]],
  ['(s.commitTransaction(), db.pets.countDocuments({}))', 5],
  ['(s.startTransaction(), t.deleteMany({}), s.abortTransaction(), db.pets.countDocuments({}))', 5],
  ['(s.withTransaction(() => t.deleteOne({_id: "t"})), db.pets.countDocuments({}))', 4],
  ['(s.startTransaction(), t.updateOne({_id: 1}, {$set: {x: 1}}).modifiedCount)', 1],
  ['(o = db.getMongo().startSession(), u = o.getDatabase("clients_mongosh").pets, o.startTransaction(), 1)', 1],
  ['code(() => u.deleteOne({_id: 1}))', 112],
  ['(o.abortTransaction(), s.commitTransaction(), s.endSession(), o.endSession(), db.pets.findOne({_id: 1}).x)', 1],
  ['db.pets.deleteMany({}).deletedCount', 4],
  ['rs.status().ok', 1],
  ['rs.conf().members.length', 1],
  ['db.getProfilingStatus().was', 0],
  ['db.adminCommand({getLog: "startupWarnings"}).ok', 1],
  ['db.dropDatabase().ok', 1],
];

let results = [];
step('a script runs to its end', async () => {
  const script = join(process.env.SCRATCH, 'script.js');
  const body = lines.map(([line], at) => `
    try { const value = ${line}; print("@" + EJSON.stringify([${at}, value], {relaxed: true})); }
    catch (error) { print("@" + JSON.stringify([${at}, "error " + (error.codeName ?? error.message)])); }`);
  const code = 'function code(run) { try { run(); return "no error"; } catch (error) { return error.code; } }';
  writeFileSync(script, `db = db.getSiblingDB("clients_mongosh");\n${code}\n${body.join('')}\n`);
  const output = await mongosh('--file', script);
  results = new Map(output.split('\n').filter(line => line.startsWith('@')).map(line => JSON.parse(line.slice(1))));
  equal(results.size, lines.length, output);
});
lines.forEach(([line, expected], at) => {
  step(line, () => equal(results.get(at), expected));
});
step('--eval prints documents', async () => {
  ok((await mongosh('--eval', 'db.getSiblingDB("x").y.insertOne({_id: 1})')).includes('acknowledged: true'));
  equal(await mongosh('--eval', 'EJSON.stringify(db.getSiblingDB("x").y.find().toArray())', '--json=relaxed').then(JSON.parse), '[{"_id":1}]');
  ok((await mongosh('--eval', 'show dbs')).includes('x'));
});
step('an error ends --eval with 1', async () => {
  const error = await fails(1, mongosh('--eval', 'db.x.find({$nonsense: 1}).toArray()'));
  ok(/MongoServerError.*\$nonsense/s.test(error.stdout + error.stderr), error.stderr);
});

await runAll();

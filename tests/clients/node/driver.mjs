// What programs with the Node.js driver do.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  BSONRegExp, Binary, Decimal128, Double, GridFSBucket, Int32, Long, MaxKey, MinKey, MongoBulkWriteError, MongoClient,
  ObjectId, Timestamp, UUID,
} from 'mongodb';
import { equal, fails, ok, runAll, step } from './steps.mjs';

const NAME = 'clients_node';
const client = new MongoClient(process.env.MONGODB_URI, { serverSelectionTimeoutMS: 5000 });
const db = client.db(NAME);

async function fresh(name, documents = []) {
  await db.dropCollection(name).catch(() => {});
  if (documents.length) await db.collection(name).insertMany(documents);
  return db.collection(name);
}

const numbers = (n, make = i => ({})) => Array.from({ length: n }, (_, i) => ({ _id: i, ...make(i) }));

step('connects', async () => {
  await client.connect();
  equal((await db.command({ ping: 1 })).ok, 1);
  ok((await db.admin().serverInfo()).versionArray[0] >= 7);
});

step('one document', async () => {
  const c = await fresh('one');
  const { insertedId, acknowledged } = await c.insertOne({ name: 'rex' });
  ok(acknowledged && insertedId instanceof ObjectId);
  equal(await c.findOne({ name: 'rex' }), { _id: insertedId, name: 'rex' });
  equal((await c.updateOne({ name: 'rex' }, { $set: { age: 1 } })).modifiedCount, 1);
  const up = await c.updateOne({ _id: 'u' }, { $set: { age: 1 } }, { upsert: true });
  equal([up.matchedCount, up.upsertedCount, up.upsertedId], [0, 1, 'u']);
  equal((await c.replaceOne({ _id: 'u' }, { b: 1 })).modifiedCount, 1);
  equal((await c.deleteOne({ _id: 'u' })).deletedCount, 1);
  equal((await c.deleteMany({})).deletedCount, 1);
});

step('bulk writes', async () => {
  const c = await fresh('bulk');
  const done = await c.bulkWrite([
    { insertOne: { document: { _id: 1 } } },
    { updateOne: { filter: { _id: 2 }, update: { $set: { a: 1 } }, upsert: true } },
    { replaceOne: { filter: { _id: 1 }, replacement: { b: 1 } } },
    { updateMany: { filter: {}, update: { $set: { c: 1 } } } },
    { deleteOne: { filter: { _id: 2 } } },
  ]);
  equal([done.insertedCount, done.upsertedIds, done.matchedCount, done.deletedCount], [1, { 1: 2 }, 3, 1]);
  const error = await fails(11000, c.insertMany([{ _id: 5 }, { _id: 1 }, { _id: 6 }], { ordered: false }));
  ok(error instanceof MongoBulkWriteError);
  equal([error.insertedCount, error.writeErrors.length, error.writeErrors[0].index], [2, 1, 1]);
});

step('bulk writes of the client', async () => {
  const done = await client.bulkWrite([
    { namespace: `${NAME}.x`, name: 'insertOne', document: { _id: 1 } },
    { namespace: `${NAME}.y`, name: 'updateOne', filter: { _id: 1 }, update: { $set: { a: 1 } }, upsert: true },
    { namespace: `${NAME}.x`, name: 'deleteMany', filter: {} },
  ], { verboseResults: true });
  equal([done.insertedCount, done.upsertedCount, done.deletedCount], [1, 1, 1]);
  equal(done.updateResults.get(1).upsertedId, 1);
});

step('array filters and operators', async () => {
  const c = await fresh('arrays', [{ _id: 1, l: [{ a: 1 }, { a: 5 }], t: ['x'] }]);
  await c.updateOne({}, { $set: { 'l.$[big].b': true } }, { arrayFilters: [{ 'big.a': { $gt: 2 } }] });
  await c.updateOne({}, { $push: { t: { $each: ['b', 'a'], $sort: 1 } }, $addToSet: { s: 1 } });
  equal(await c.findOne(), { _id: 1, l: [{ a: 1 }, { a: 5, b: true }], t: ['a', 'b', 'x'], s: [1] });
  await c.updateMany({}, [{ $set: { n: { $size: '$l' } } }, { $unset: 'l' }]);
  equal((await c.findOne()).n, 2);
  await fails(66, c.updateOne({}, { $set: { _id: 7 } }));
});

step('finds', async () => {
  const c = await fresh('finds', numbers(50, i => ({ n: i % 7, s: `s${i}` })));
  const found = await c.find({ n: { $in: [1, 2] } }).sort({ n: -1, _id: 1 }).skip(1).limit(3).project({ n: 1 }).toArray();
  equal(found, [{ _id: 9, n: 2 }, { _id: 16, n: 2 }, { _id: 23, n: 2 }]);
  equal(await c.countDocuments({ n: 1 }), 7);
  equal(await c.estimatedDocumentCount(), 50);
  equal((await c.distinct('n')).sort(), [0, 1, 2, 3, 4, 5, 6]);
  equal(await c.find({ s: /^S1$/i }).map(d => d._id).toArray(), [1]);
});

step('cursors', async () => {
  const c = await fresh('cursors', numbers(500));
  let n = 0;
  for await (const document of c.find().batchSize(11)) n += document._id >= 0 ? 1 : 0;
  equal(n, 500);
  const cursor = c.find().batchSize(3);
  await cursor.next();
  const id = cursor.id;
  await cursor.close();
  await fails(43, db.command({ getMore: id, collection: 'cursors' }));
  for await (const document of c.find().batchSize(2)) { if (document._id === 5) break; }
  const streamed = [];
  for await (const document of c.find({}, { sort: { _id: -1 } }).limit(120).stream()) streamed.push(document._id);
  equal([streamed.length, streamed[0]], [120, 499]);
  const rewound = c.find().limit(2);
  equal((await rewound.toArray()).length, 2);
  rewound.rewind();
  equal((await rewound.toArray()).length, 2);
  equal(await c.find().hasNext(), true);
});

step('aggregation', async () => {
  const c = await fresh('orders', numbers(9, i => ({ who: i % 3, sum: i })));
  await fresh('people', [{ _id: 0, name: 'a' }, { _id: 1, name: 'b' }, { _id: 2, name: 'c' }]);
  const done = await c.aggregate([
    { $group: { _id: '$who', sum: { $sum: '$sum' } } },
    { $lookup: { from: 'people', localField: '_id', foreignField: '_id', as: 'p' } },
    { $set: { name: { $first: '$p.name' } } }, { $unset: 'p' }, { $sort: { sum: -1 } },
  ]).toArray();
  equal(done[0], { _id: 2, sum: 15, name: 'c' });
  equal(await c.aggregate([{ $match: { who: 1 } }, { $out: 'picked' }]).toArray(), []);
  equal(await db.collection('picked').countDocuments(), 3);
  equal(await db.aggregate([{ $documents: [{ a: 1 }] }]).toArray(), [{ a: 1 }]);
  ok((await c.aggregate([{ $match: { who: 1 } }]).explain()).ok);
});

step('indexes', async () => {
  const c = await fresh('indexed', numbers(1000, i => ({ a: i, at: new Date() })));
  equal(await c.createIndex({ a: 1, b: -1 }), 'a_1_b_-1');
  equal(await c.createIndexes([{ key: { at: 1 }, expireAfterSeconds: 60 }, { key: { e: 1 }, unique: true, partialFilterExpression: { e: { $exists: true } } }]), ['at_1', 'e_1']);
  equal((await c.indexes()).map(i => i.name).sort(), ['_id_', 'a_1_b_-1', 'at_1', 'e_1']);
  equal(await c.indexExists(['at_1']), true);
  const plan = await c.find({ a: 3 }).explain('queryPlanner');
  equal(plan.queryPlanner.winningPlan.inputStage.indexName, 'a_1_b_-1');
  equal((await c.find({ a: 3 }).hint({ a: 1, b: -1 }).toArray()).length, 1);
  await c.dropIndex('at_1');
  await c.dropIndexes();
  equal((await c.indexes()).length, 1);
  await fails(27, c.dropIndex('none'));
  await fails(26, db.collection('missing').indexes());
});

step('duplicate keys', async () => {
  const c = await fresh('unique', [{ email: 'a' }]);
  await c.createIndex({ email: 1 }, { unique: true });
  const error = await fails(11000, c.insertOne({ email: 'a' }));
  equal([error.keyPattern, error.keyValue], [{ email: 1 }, { email: 'a' }]);
  ok(error.message.includes('dup key: { email: "a" }'), error.message);
});

step('findOneAnd…', async () => {
  const c = await fresh('modify', [{ _id: 1, n: 1 }]);
  equal(await c.findOneAndUpdate({}, { $inc: { n: 1 } }), { _id: 1, n: 1 });
  equal(await c.findOneAndUpdate({}, { $inc: { n: 1 } }, { returnDocument: 'after', projection: { _id: 0 } }), { n: 3 });
  equal(await c.findOneAndReplace({ _id: 2 }, { z: 1 }, { upsert: true, returnDocument: 'after' }), { _id: 2, z: 1 });
  const meta = await c.findOneAndDelete({ _id: 2 }, { includeResultMetadata: true });
  equal([meta.lastErrorObject, meta.value], [{ n: 1 }, { _id: 2, z: 1 }]);
  equal(await c.findOneAndDelete({ _id: 2 }), null);
});

const transient = error => error.hasErrorLabel('TransientTransactionError');

step('transactions commit in two databases', async () => {
  const [a, b] = [await fresh('moved', [{ _id: 1, n: 10 }]), await fresh('moves')];
  const c = client.db(`${NAME}_other`).collection('moved');
  await c.deleteMany({});
  await client.withSession(async session => {
    equal(await session.withTransaction(async () => {
      await a.updateOne({ _id: 1 }, { $inc: { n: -3 } }, { session });
      await b.insertOne({ _id: 'first' }, { session });
      return (await c.insertOne({ _id: 1, n: 3 }, { session })).insertedId;
    }), 1);
    session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } });
    await a.bulkWrite([{ insertOne: { document: { _id: 2 } } }, { deleteOne: { filter: { _id: 1 } } }], { session });
    await c.findOneAndUpdate({ _id: 2 }, { $set: { n: 1 } }, { upsert: true, session });
    const second = { namespace: `${NAME}.moves`, name: 'insertOne', document: { _id: 'second' } };
    await client.bulkWrite([second], { session });
    await session.commitTransaction();
    await session.commitTransaction();
  });
  equal(await a.find().toArray(), [{ _id: 2 }]);
  equal(await b.find().toArray(), [{ _id: 'first' }, { _id: 'second' }]);
  equal(await c.find().toArray(), [{ _id: 1, n: 3 }, { _id: 2, n: 1 }]);
  await client.db(`${NAME}_other`).dropDatabase();
});

step('transactions abort at an exception', async () => {
  const c = await fresh('aborted', [{ _id: 1 }]);
  await client.withSession(async session => {
    const error = await fails(undefined, session.withTransaction(async () => {
      await c.updateOne({ _id: 1 }, { $set: { a: 1 } }, { session });
      await c.insertMany(numbers(100, i => ({ _id: i + 2 })), { session });
      throw new Error('stop');
    }));
    equal(error.message, 'stop');
    session.startTransaction();
    await db.collection('made_and_aborted').insertOne({}, { session });
    await session.abortTransaction();
  });
  equal(await c.find().toArray(), [{ _id: 1 }]);
  equal(await db.listCollections({ name: 'made_and_aborted' }).toArray(), []);
});

step('transactions are repeated until they commit', async () => {
  const c = await fresh('counters', [{ _id: 0, n: 0 }]);
  await Promise.all(Array.from({ length: 8 }, () => client.withSession(async session => {
    for (let i = 0; i < 10; i += 1) {
      await session.withTransaction(async () => {
        const { n } = await c.findOne({ _id: 0 }, { session });
        await c.updateOne({ _id: 0 }, { $set: { n: n + 1 } }, { session });
      });
    }
  })));
  equal((await c.findOne()).n, 80);
});

step('conflicts of transactions have a label', async () => {
  const c = await fresh('conflicts', [{ _id: 1, n: 0 }]);
  const [one, two] = [client.startSession(), client.startSession()];
  one.startTransaction();
  two.startTransaction();
  await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: one });
  ok(transient(await fails(112, c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: two }))));
  ok(transient(await fails(251, c.findOne({}, { session: two }))));
  await two.abortTransaction();
  await one.commitTransaction();
  await Promise.all([one.endSession(), two.endSession()]);
  equal(await c.findOne(), { _id: 1, n: 1 });
});

step('transactions read their own writes', async () => {
  const c = await fresh('own', numbers(100));
  await client.withSession(session => session.withTransaction(async () => {
    await c.insertMany(numbers(50, i => ({ _id: i + 100 })), { session });
    await c.deleteOne({ _id: 0 }, { session });
    const cursor = c.find({}, { batchSize: 20, session });
    const found = [await cursor.next()];
    await c.insertOne({ _id: 1000 });
    for await (const document of cursor) found.push(document);
    equal(found.map(d => d._id), Array.from({ length: 149 }, (_, i) => i + 1));
    equal([await c.countDocuments({}, { session }), await c.countDocuments()], [149, 101]);
    equal((await c.distinct('_id', { _id: { $gte: 140 } }, { session })).length, 10);
    equal(await c.aggregate([{ $sort: { _id: -1 } }, { $limit: 1 }], { session }).toArray(), [{ _id: 149 }]);
  }));
  equal(await c.countDocuments(), 150);
});

step('duplicates abort transactions', async () => {
  const c = await fresh('unique_within', [{ _id: 1, email: 'a' }]);
  await c.createIndex({ email: 1 }, { unique: true });
  await client.withSession(async session => {
    session.startTransaction();
    await c.insertOne({ _id: 2, email: 'b' }, { session });
    const error = await fails(11000, c.insertOne({ _id: 3, email: 'a' }, { session }));
    equal(error.keyValue, { email: 'a' });
    ok(!transient(error));
    await fails(251, c.insertOne({ _id: 4, email: 'd' }, { session }));
    await session.abortTransaction();
  });
  equal(await c.find().toArray(), [{ _id: 1, email: 'a' }]);
});

step('change streams resume where they ended', async () => {
  const c = await fresh('watched');
  const first = c.watch([{ $match: { operationType: { $in: ['insert', 'update'] } } }], { fullDocument: 'updateLookup' });
  await first.tryNext();
  await c.insertMany(numbers(10, i => ({ _id: i, n: 0 })));
  await c.updateOne({ _id: 3 }, { $inc: { n: 1 } });
  const found = [];
  for (let i = 0; i < 4; i += 1) found.push(await first.next());
  equal(found.map(event => event.documentKey._id), [0, 1, 2, 3]);
  const token = found[3]._id;
  await first.close();
  await c.insertOne({ _id: 10 });
  const second = c.watch([], { resumeAfter: token });
  for (let i = 0; i < 8; i += 1) found.push(await second.next());
  equal(found.slice(4).map(event => event.documentKey._id), [4, 5, 6, 7, 8, 9, 3, 10]);
  equal(found[10].updateDescription.updatedFields, { n: 1 });
  const last = second.resumeToken;
  await second.close();
  const third = c.watch([], { startAfter: last });
  const [event] = await Promise.all([third.next(), c.deleteOne({ _id: 10 })]);
  equal(event.operationType, 'delete');
  await third.close();
});

step('change streams of databases have whole transactions', async () => {
  const [a, b] = [await fresh('watched_a'), await fresh('watched_b')];
  const stream = db.watch();
  await stream.tryNext();
  await client.withSession(session => session.withTransaction(async () => {
    await a.insertOne({ _id: 1 }, { session });
    await b.insertOne({ _id: 2 }, { session });
  }));
  const events = [await stream.next(), await stream.next()];
  equal(events.map(event => [event.ns.coll, event.documentKey._id]), [['watched_a', 1], ['watched_b', 2]]);
  ok(events[0].clusterTime.equals(events[1].clusterTime) && events[0].txnNumber === events[1].txnNumber);
  await stream.close();
});

step('sessions are causally consistent', async () => {
  const c = await fresh('causal');
  const [one, two] = [client.startSession({ causalConsistency: true }), client.startSession()];
  await c.insertOne({ _id: 1 }, { session: one });
  two.advanceClusterTime(one.clusterTime);
  two.advanceOperationTime(one.operationTime);
  equal(await c.findOne({}, { session: two }), { _id: 1 });
  await two.withTransaction(() => c.insertOne({ _id: 2 }, { session: two }));
  ok(two.operationTime.greaterThan(one.operationTime));
  await Promise.all([one.endSession(), two.endSession()]);
});

step('GridFS', async () => {
  const bucket = new GridFSBucket(db, { bucketName: 'files', chunkSizeBytes: 1000 });
  const data = Buffer.from(Array.from({ length: 5555 }, (_, i) => i % 256));
  const upload = bucket.openUploadStream('a.bin', { metadata: { kind: 'test' } });
  await new Promise((resolve, reject) => Readable.from([data]).pipe(upload).on('finish', resolve).on('error', reject));
  ok((await buffer(bucket.openDownloadStream(upload.id))).equals(data));
  ok((await buffer(bucket.openDownloadStreamByName('a.bin', { start: 1500, end: 1600 }))).equals(data.subarray(1500, 1600)));
  equal((await bucket.find({ 'metadata.kind': 'test' }).toArray()).map(f => f.length), [5555]);
  await bucket.rename(upload.id, 'b.bin');
  await bucket.delete(upload.id);
  equal(await db.collection('files.chunks').countDocuments(), 0);
  await bucket.drop();
});

step('types', async () => {
  const c = await fresh('types');
  const document = {
    _id: new ObjectId(), date: new Date('2026-11-26T12:00:00.123Z'), decimal: new Decimal128('12.50'), nothing: null,
    long: Long.fromString('9007199254740993'), binary: new Binary(Buffer.from([0, 255]), 0), uuid: new UUID(),
    regex: /^a.b/i, nested: { a: [1, [2, { b: 3 }]] }, big: 2 ** 40, double: 1.5, bool: true, ts: new Timestamp({ t: 1, i: 2 }),
    min: new MinKey(), max: new MaxKey(), text: 'größe',
  };
  await c.insertOne(document);
  const found = await c.findOne({}, { promoteLongs: false, promoteValues: false, bsonRegExp: true });
  equal(found.long, document.long);
  equal(found.regex, new BSONRegExp('^a.b', 'i'));
  equal(found.big, new Double(2 ** 40));
  equal(found.decimal.toString(), '12.50');
  equal(found.nested.a[0], new Int32(1));
  equal(await c.countDocuments({ date: { $lte: document.date }, uuid: document.uuid, binary: document.binary }), 1);
  equal(await c.countDocuments({ big: { $type: 'double' }, long: { $type: 'long' }, decimal: { $type: 'decimal' } }), 1);
});

step('databases and collections', async () => {
  await db.createCollection('made');
  await fails(48, db.createCollection('made', { validator: { a: 1 } }));
  ok((await db.listCollections({}, { nameOnly: true }).toArray()).some(c => c.name === 'made'));
  ok((await db.collections()).length > 3);
  ok((await db.admin().listDatabases()).databases.some(d => d.name === NAME));
  await db.renameCollection('made', 'renamed');
  await fails(26, db.renameCollection('made', 'other'));
  equal(await db.dropCollection('renamed'), true);
  ok((await db.stats()).collections > 0);
});

step('unknown commands and wrong queries', async () => {
  await fails(59, db.command({ nonsense: 1 }));
  await fails(2, db.collection('x').findOne({ a: { $nonsense: 1 } }));
  await fails(40324, db.collection('x').aggregate([{ $nonsense: 1 }]).toArray());
  await fails(14, db.command({ find: 'x', filter: 'text' }));
});

step('validators', async () => {
  await db.dropCollection('checked').catch(() => {});
  const c = await db.createCollection('checked', { validator: { $jsonSchema: { required: ['name'] } } });
  const error = await fails(121, c.insertOne({ a: 1 }));
  ok(error.errInfo.details);
  await c.insertOne({ name: 'x' });
  await fails(121, c.updateOne({ name: 'x' }, { $unset: { name: 1 } }));
  equal((await db.listCollections({ name: 'checked' }).toArray())[0].options.validator, { $jsonSchema: { required: ['name'] } });
});

step('views and collations', async () => {
  await fresh('base', [{ _id: 1, s: 'a' }, { _id: 2, s: 'B' }, { _id: 3, s: 'A' }]);
  await db.createCollection('view', { viewOn: 'base', pipeline: [{ $match: { _id: { $gt: 1 } } }] });
  equal((await db.collection('view').find({}, { sort: { _id: -1 } }).toArray()).map(d => d._id), [3, 2]);
  const collation = { locale: 'en', strength: 2 };
  equal((await db.collection('base').find({ s: 'a' }, { collation }).toArray()).length, 2);
  equal((await db.collection('base').find({}, { collation, sort: { s: 1, _id: 1 } }).toArray()).map(d => d.s), ['a', 'A', 'B']);
});

step('options', async () => {
  const c = await fresh('options', [{ _id: 1, n: 1 }]);
  equal(await c.findOne({ $expr: { $eq: ['$n', '$$x'] } }, { let: { x: 1 } }), { _id: 1, n: 1 });
  equal((await c.insertOne({ _id: 2 }, { writeConcern: { w: 'majority', journal: true } })).insertedId, 2);
  equal((await c.insertOne({ _id: 3 }, { writeConcern: { w: 0 } })).acknowledged, false);
  equal((await c.find({}, { readPreference: 'secondaryPreferred', readConcern: { level: 'majority' }, maxTimeMS: 1000, comment: 'x' }).toArray()).length >= 2, true);
  const raw = await db.collection('options', { promoteValues: true }).find({}, { raw: true }).limit(1).toArray();
  ok(Buffer.isBuffer(raw[0]) || raw[0] instanceof Uint8Array);
});

step('parallel requests', async () => {
  const c = await fresh('parallel', [{ _id: 0, n: 0 }]);
  await Promise.all(Array.from({ length: 300 }, () => c.updateOne({ _id: 0 }, { $inc: { n: 1 } })));
  equal((await c.findOne()).n, 300);
});

step('compression', async () => {
  const small = new MongoClient(process.env.MONGODB_URI, { compressors: ['snappy', 'zlib'] });
  await small.db(NAME).collection('packed').insertMany(numbers(100, i => ({ text: 'x'.repeat(1000) })));
  equal((await small.db(NAME).collection('packed').find().toArray()).length, 100);
  await small.close();
});

step('drops the database', async () => {
  equal(await db.dropDatabase(), true);
  ok(!(await db.admin().listDatabases({ nameOnly: true })).databases.some(d => d.name === NAME));
});

await runAll(() => client.close());

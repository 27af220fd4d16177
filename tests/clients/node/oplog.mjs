// Programs that follow `local.oplog.rs`: the package `mongo-oplog`, and the queries of Meteor.
import { MongoClient } from 'mongodb';
import MongoOplog from 'mongo-oplog';
import { equal, ok, runAll, step } from './steps.mjs';

const NAME = 'clients_oplog';
const uri = process.env.MONGODB_URI;
const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5000 });
const db = client.db(NAME);
const log = client.db('local').collection('oplog.rs');

/** Waits until a condition holds. */
async function until(condition) {
  const end = Date.now() + 20_000;
  while (!condition()) {
    ok(Date.now() < end, 'it takes too long');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

async function write() {
  const c = db.collection('pets');
  await c.insertOne({ _id: 1, n: 1 });
  await c.updateOne({ _id: 1 }, { $set: { n: 2 } });
  await c.insertMany([{ _id: 2 }, { _id: 3 }]);
  await c.deleteMany({ _id: { $gt: 1 } });
  await c.drop();
}

step('mongo-oplog emits each operation', async () => {
  await db.collection('pets').insertOne({ _id: 0 });
  const local = uri.replace(/\/(\?|$)/, '/local$1');
  const oplog = MongoOplog(local, { ns: `${NAME}.*` });
  const [seen, errors, pets] = [[], [], []];
  oplog.on('error', error => errors.push(error));
  for (const event of ['insert', 'update', 'delete']) {
    oplog.on(event, entry => seen.push([event, entry.o2 ? entry.o2._id : entry.o._id]));
  }
  oplog.filter('*.pets').on('op', entry => pets.push(entry.op));
  await oplog.tail();
  await write();
  await until(() => seen.length >= 6 || errors.length);
  equal(errors, []);
  equal(seen, [['insert', 1], ['update', 1], ['insert', 2], ['insert', 3], ['delete', 2], ['delete', 3]]);
  equal(pets, ['i', 'u', 'i', 'i', 'd', 'd']);
  await oplog.destroy();
});

/** The entries that Meteor chooses. */
const chosen = {
  ns: new RegExp(`^(?:${NAME}\\.|admin\\.\\$cmd)`),
  $or: [
    { op: { $in: ['i', 'u', 'd'] } },
    { op: 'c', 'o.drop': { $exists: true } },
    { op: 'c', 'o.dropDatabase': 1 },
    { op: 'c', 'o.applyOps': { $exists: true } },
  ],
};

step('the queries of Meteor', async () => {
  ok((await client.db('admin').command({ ismaster: 1 })).setName);
  const last = await log.findOne({}, { sort: { $natural: -1 }, projection: { ts: 1 } });
  const cursor = log.find({ ...chosen, ts: { $gt: last.ts } }, { tailable: true, awaitData: true });
  const entries = [];
  const reading = (async () => {
    while (entries.length < 12) {
      const entry = await cursor.tryNext();
      if (entry) entries.push(entry);
    }
  })();
  await db.collection('pets').insertOne({ _id: 0 });
  await write();
  const session = client.startSession();
  await session.withTransaction(async () => {
    await db.collection('pets').insertOne({ _id: 1 }, { session });
    await db.collection('toys').insertOne({ _id: 1 }, { session });
  });
  await session.endSession();
  await db.dropDatabase();
  await reading;
  await cursor.close();
  const kinds = entries.map(entry => (entry.op === 'c' ? Object.keys(entry.o)[0] : entry.op));
  const ofWrite = ['i', 'u', 'i', 'i', 'd', 'd', 'drop'];
  equal(kinds, ['i', ...ofWrite, 'applyOps', 'drop', 'drop', 'dropDatabase']);
});

step('waits until it has caught up', async () => {
  const newest = () => log.findOne(chosen, { sort: { $natural: -1 }, projection: { ts: 1 } });
  const before = await newest();
  await db.collection('pets').insertOne({ n: 1 });
  const after = await newest();
  ok(after.ts.greaterThan(before.ts));
});

await client.connect();
await db.dropDatabase();
await runAll(() => client.close());

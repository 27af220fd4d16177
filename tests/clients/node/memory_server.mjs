// mongodb-memory-server starts the program in place of mongod.
import { MongoClient } from 'mongodb';
import { equal, fails, ok, runAll, step } from './steps.mjs';

process.env.MONGOMS_SYSTEM_BINARY = process.env.MONGOD;
process.env.MONGOMS_VERSION = '8.2.0';
const warnings = [];
console.warn = (...words) => warnings.push(words.join(' '));
const { MongoMemoryReplSet, MongoMemoryServer } = await import('mongodb-memory-server-core');

async function uses(uri) {
  const client = await MongoClient.connect(uri);
  const c = client.db('app').collection('pets');
  await c.insertMany([{ _id: 1 }, { _id: 2 }]);
  equal(await c.countDocuments(), 2);
  await fails(11000, c.insertOne({ _id: 1 }));
  await client.close();
}

step('a server starts and stops', async () => {
  const server = await MongoMemoryServer.create();
  await uses(server.getUri());
  ok(await server.stop());
});

step('the version is that which was requested', () => equal(warnings, []));

step('servers run beside each other', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => MongoMemoryServer.create({ instance: { dbName: 'app' } })));
  await Promise.all(servers.map(server => uses(server.getUri())));
  await Promise.all(servers.map(server => server.stop()));
});

step('a server with another engine and arguments', async () => {
  const instance = { storageEngine: 'ephemeralForTest', args: ['--quiet', '--setParameter', 'ttlMonitorSleepSecs=1'] };
  const server = await MongoMemoryServer.create({ instance });
  await uses(server.getUri());
  await server.stop();
});

step('data stays in a directory', async () => {
  const path = process.env.SCRATCH;
  const first = await MongoMemoryServer.create({ instance: { dbPath: path, storageEngine: 'wiredTiger' } });
  await uses(first.getUri());
  await first.stop({ doCleanup: false });
  const second = await MongoMemoryServer.create({ instance: { dbPath: path, storageEngine: 'wiredTiger' } });
  const client = await MongoClient.connect(second.getUri());
  equal(await client.db('app').collection('pets').countDocuments(), 2);
  await client.close();
  await second.stop({ doCleanup: false });
});

step('a replica set of one member', async () => {
  const set = await MongoMemoryReplSet.create({ replSet: { count: 1, name: 'rs7' } });
  await uses(set.getUri());
  const client = await MongoClient.connect(set.getUri());
  equal((await client.db('admin').command({ replSetGetStatus: 1 })).set, 'rs7');
  await client.close();
  await set.stop();
});

step('a port that is taken', async () => {
  const server = await MongoMemoryServer.create();
  const port = server.instanceInfo.port;
  const other = new MongoMemoryServer({ instance: { port, portGeneration: false } });
  ok((await fails(undefined, other.start(true))).message.length > 0);
  await server.stop();
});

await runAll();

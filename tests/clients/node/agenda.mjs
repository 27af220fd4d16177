// Jobs of agenda that other processes are told of by a change stream: this process schedules, and workers run the jobs.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Agenda } from 'agenda';
import { MongoBackend } from '@agendajs/mongo-backend';
import { MongoClient, ObjectId } from 'mongodb';
import { equal, ok, runAll, step } from './steps.mjs';

const PATIENCE_MS = 60_000;
const wait = ms => new Promise(resolve => { setTimeout(resolve, ms); });

/** Fails unless the condition holds before long. */
async function holds(condition, what) {
  for (const until = Date.now() + PATIENCE_MS; !(await condition()); await wait(50)) {
    if (Date.now() > until) throw new Error(`not so: ${what}`);
  }
}

/** The program with a database of its own. */
class Server {
  port = 0;

  async start() {
    const words = ['serve', path.join(process.env.SCRATCH, 'jobs'), '--listen', `127.0.0.1:${this.port}`];
    this.process = spawn(process.env.ALLUVIUM, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(createInterface({ input: this.process.stdout }), 'line');
    this.port = Number(line.split(':').at(-1));
    this.uri = `mongodb://127.0.0.1:${this.port}/`;
  }

  async end(signal) {
    const ended = once(this.process, 'exit');
    this.process.kill(signal);
    return ended;
  }
}

/** The processes of all workers. */
const started = [];

/** A worker in a process of its own. */
class Worker {
  ran = [];

  errors = [];

  async start(database, options = { channel: true }) {
    const file = new URL('./agenda_worker.mjs', import.meta.url);
    this.process = fork(file, [JSON.stringify({ uri: server.uri, database, ...options })]);
    started.push(this.process);
    this.process.on('message', message => {
      if ('ran' in message) this.ran.push(message);
      if ('error' in message) this.errors.push(message.error);
      if ('started' in message) this.started = true;
      if ('resumeToken' in message) this.resumeToken = message.resumeToken;
    });
    await holds(() => this.started, 'the worker has started');
    // The stream is opened beside the start.
    await wait(2000);
    return this;
  }

  numbers() {
    return this.ran.map(({ ran }) => ran).sort((a, b) => a - b);
  }

  async stop() {
    const ended = once(this.process, 'exit');
    this.process.send('stop');
    equal((await ended)[0], 0);
    return this.resumeToken;
  }
}

/** Schedules jobs in a database, which another process runs. */
async function scheduler(database) {
  const client = await MongoClient.connect(server.uri);
  const db = client.db(database);
  const agenda = new Agenda({ backend: new MongoBackend({ mongo: db }) });
  await agenda.ready;
  agenda.define('work', async () => { throw new Error('the job was run here'); });
  return { agenda, jobs: db.collection('agendaJobs'), close: () => client.close() };
}

const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);
const server = new Server();
await server.start();

step('a job is run at once by another process', async () => {
  const { agenda, jobs, close } = await scheduler('now');
  const worker = await new Worker().start('now');
  const at = Date.now();
  const job = await agenda.now('work', { number: 1 });
  await holds(() => worker.ran.length === 1, 'the job was run');
  equal(worker.ran.map(({ ran, id }) => [ran, id]), [[1, String(job.attrs._id)]]);
  ok(worker.ran[0].at >= at);
  await holds(async () => (await jobs.findOne({ _id: new ObjectId(job.attrs._id) })).lastFinishedAt, 'the end is stored');
  equal(worker.errors, []);
  await worker.stop();
  await close();
});

step('without the stream it is not run', async () => {
  const { agenda, jobs, close } = await scheduler('polled');
  const worker = await new Worker().start('polled', { channel: false });
  const job = await agenda.now('work', { number: 1 });
  await wait(4000);
  equal([worker.ran, (await jobs.findOne({ _id: new ObjectId(job.attrs._id) })).lastFinishedAt ?? null], [[], null]);
  await worker.stop();
  await close();
});

step('jobs of the future and repeated jobs are run at their times', async () => {
  const { agenda, close } = await scheduler('later');
  const worker = await new Worker().start('later');
  const due = new Date(Date.now() + 3000);
  await agenda.schedule(due, 'work', { number: 1 });
  const repeated = await agenda.every('2 seconds', 'work', { number: 2 });
  await holds(() => worker.ran.filter(({ ran }) => ran === 2).length >= 3, 'the job was repeated');
  await repeated.remove();
  const [first] = worker.ran.filter(({ ran }) => ran === 1);
  ok(first.at >= due.valueOf() - 5, `run ${due - first.at} ms too early`);
  equal(worker.ran.filter(({ ran }) => ran === 1).length, 1);
  await worker.stop();
  await close();
});

step('a job that is changed runs again', async () => {
  const { agenda, jobs, close } = await scheduler('changed');
  const worker = await new Worker().start('changed');
  const job = await agenda.schedule(new Date(Date.now() + 3_600_000), 'work', { number: 5 });
  await wait(1000);
  equal(worker.ran, []);
  // An update of another field than agenda's has the whole document in its event.
  await jobs.updateOne({ _id: new ObjectId(job.attrs._id) }, { $set: { nextRunAt: new Date() } });
  await holds(() => worker.ran.length === 1, 'the changed job was run');
  await worker.stop();
  await close();
});

step('each of many jobs is run by one of the workers', async () => {
  const { agenda, jobs, close } = await scheduler('many');
  const workers = await Promise.all([1, 2].map(() => new Worker().start('many')));
  await Promise.all(range(0, 60).map(number => agenda.now('work', { number })));
  const all = () => workers.flatMap(worker => worker.numbers()).sort((a, b) => a - b);
  await holds(() => all().length >= 60, 'all jobs were run');
  await holds(async () => await jobs.countDocuments({ lastFinishedAt: { $exists: true } }) === 60, 'all ends are stored');
  equal(all(), range(0, 60));
  await Promise.all(workers.map(worker => worker.stop()));
  await close();
});

step('the stream continues after the server was killed', async () => {
  const { agenda, close } = await scheduler('killed');
  const worker = await new Worker().start('killed');
  await agenda.now('work', { number: 1 });
  await holds(() => worker.ran.length === 1, 'the first job was run');
  for (const number of [2, 3]) {
    await server.end('SIGKILL');
    await server.start();
    await agenda.now('work', { number });
    await holds(() => worker.ran.length === number, `job ${number} was run`);
  }
  equal(worker.numbers(), [1, 2, 3]);
  await worker.stop();
  await close();
});

step('a token brings the jobs of the meantime', async () => {
  const { agenda, close } = await scheduler('token');
  const first = await new Worker().start('token');
  await agenda.now('work', { number: 1 });
  await holds(() => first.ran.length === 1, 'the first job was run');
  await wait(1000);
  const resumeToken = await first.stop();
  await agenda.schedule(new Date(Date.now() + 10_000), 'work', { number: 2 });
  equal((await server.end('SIGTERM'))[0], 0);
  await server.start();
  const second = await new Worker().start('token', { channel: true, resumeToken });
  await holds(() => second.ran.length === 1, 'the job of the meantime was run');
  equal(second.numbers(), [2]);
  await second.stop();
  await close();
});

await runAll(async () => {
  started.forEach(worker => worker.kill('SIGKILL'));
  await server.end('SIGTERM');
});

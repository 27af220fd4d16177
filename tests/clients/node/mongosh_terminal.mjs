// An interactive session of mongosh in tmux: what a person sees.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ok, runAll, step } from './steps.mjs';

const shell = new URL('./node_modules/mongosh/bin/mongosh.js', import.meta.url).pathname;
const home = mkdtempSync(join(process.env.SCRATCH, 'home-'));
const socket = join(process.env.SCRATCH, 'tmux');
const tmux = (...words) => execFileSync('tmux', ['-S', socket, ...words], { env: { ...process.env, HOME: home }, encoding: 'utf8' });
const screen = () => tmux('capture-pane', '-p', '-S', '-200', '-t', 'shell');

async function until(pattern) {
  for (let tries = 0; tries < 300; tries += 1) {
    const text = screen();
    if (pattern.test(text)) return text;
    await setTimeout(100);
  }
  throw new Error(`no ${pattern} on the screen:\n${screen()}`);
}

async function types(line, pattern) {
  tmux('send-keys', '-t', 'shell', '-l', line);
  tmux('send-keys', '-t', 'shell', 'Enter');
  return until(pattern);
}

try {
  execFileSync('tmux', ['-V']);
} catch {
  console.log('tmux is not installed\n0 passed, 0 failed');
  process.exit(0);
}

step('a prompt appears without warnings', async () => {
  tmux('new-session', '-d', '-s', 'shell', '-x', '120', '-y', '50', process.execPath, shell, process.env.MONGODB_URI);
  const text = await until(/alluvium-[0-9a-f]{8} \[[^\]]*primary\] test> *$/m);
  ok(/Using MongoDB:\s+8\./.test(text), text);
  ok(!/warning|error/i.test(text.replace(/.*deprecat.*/gi, '')), text);
});
step('use, insert and find', async () => {
  await types('use zoo', /switched to db zoo/);
  await types('db.pets.insertMany([{_id: 1, name: "rex"}, {_id: 2}])', /insertedIds: \{ '0': 1, '1': 2 \}/);
  await types('db.pets.find()', /\[ \{ _id: 1, name: 'rex' \}, \{ _id: 2 \} \]/);
});
step('show and it', async () => {
  await types('show collections', /^pets$/m);
  await types('show dbs', /^zoo +[\d.]+ (B|KiB)$/m);
  await types('db.n.insertMany(Array.from({length: 50}, (_, i) => ({_id: i}))).acknowledged', /^true$/m);
  await types('db.n.find()', /Type "it" for more/);
  await types('it', /_id: 39/);
});
step('errors are shown by name', async () => {
  await types('db.pets.insertOne({_id: 1})', /MongoServerError\S*: E11000 duplicate key error collection: zoo\.pets index: _id_ dup key: \{ _id: 1 \}/);
});
step('exit', async () => {
  tmux('send-keys', '-t', 'shell', '-l', 'exit');
  tmux('send-keys', '-t', 'shell', 'Enter');
  for (let tries = 0; tries < 100; tries += 1) {
    try { tmux('has-session', '-t', 'shell'); } catch { return; }
    await setTimeout(50);
  }
  throw new Error('mongosh does not end');
});

await runAll(async () => { try { tmux('kill-server'); } catch { /* it has ended */ } });

// A worker of agenda: it is told of jobs by a change stream, and looks for them by itself only every hour. It sends to
// the process that has forked it what it does.
import { Agenda } from 'agenda';
import { MongoBackend, MongoChangeStreamNotificationChannel } from '@agendajs/mongo-backend';
import { MongoClient } from 'mongodb';

const { uri, database, channel, resumeToken } = JSON.parse(process.argv[2]);
const db = (await MongoClient.connect(uri)).db(database);
const notificationChannel = channel ? new MongoChangeStreamNotificationChannel({ db, resumeToken }) : undefined;
const agenda = new Agenda({
  backend: new MongoBackend({ mongo: db }), notificationChannel, processEvery: '1 hour', maxConcurrency: 50,
});
agenda.define('work', async job => process.send({ ran: job.attrs.data.number, at: Date.now(), id: String(job.attrs._id) }));
agenda.on('error', error => process.send({ error: String(error) }));
notificationChannel?.on('error', error => process.send({ error: String(error) }));
process.on('message', async () => {
  await agenda.stop(true);
  process.send({ resumeToken: notificationChannel?.getResumeToken() });
  process.exit(0);
});
await agenda.start();
process.send({ started: true });

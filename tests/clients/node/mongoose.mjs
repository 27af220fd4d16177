// What programs with mongoose do.
import mongoose from 'mongoose';
import { equal, fails, ok, runAll, step } from './steps.mjs';

const { Schema } = mongoose;
await mongoose.connect(process.env.MONGODB_URI, { dbName: 'clients_mongoose' });
await mongoose.connection.dropDatabase();

const authorSchema = new Schema({
  email: { type: String, unique: true, required: true, lowercase: true },
  name: { first: String, last: String },
  born: Date,
  tags: [String],
  score: { type: Number, min: 0, default: 0 },
  balance: Schema.Types.Decimal128,
  settings: { type: Map, of: String },
}, { timestamps: true });
authorSchema.index({ 'name.last': 1, 'name.first': 1 });
authorSchema.index({ born: 1 }, { expireAfterSeconds: 10 ** 9 });
authorSchema.virtual('fullName').get(function () { return `${this.name.first} ${this.name.last}`; });
const Author = mongoose.model('Author', authorSchema);

const Book = mongoose.model('Book', new Schema({
  title: { type: String, required: true },
  author: { type: Schema.Types.ObjectId, ref: 'Author' },
  chapters: [{ title: String, pages: Number }],
  key: Schema.Types.UUID,
  cover: Buffer,
}, { optimisticConcurrency: true }));

const Shape = mongoose.model('Shape', new Schema({ area: Number }, { discriminatorKey: 'kind' }));
const Circle = Shape.discriminator('Circle', new Schema({ radius: Number }));
let ann;

step('indexes are built', async () => {
  await Author.init();
  equal((await Author.collection.indexes()).length, 4);
  equal(await Author.syncIndexes(), []);
  equal(await Author.diffIndexes(), { toDrop: [], toCreate: [] });
});

step('saves and loads', async () => {
  ann = await Author.create({ email: 'ANN@example.org', name: { first: 'Ann', last: 'Lee' }, balance: '1.10', settings: { lang: 'en' } });
  const found = await Author.findById(ann.id);
  equal([found.email, found.fullName, found.balance.toString(), found.settings.get('lang')], ['ann@example.org', 'Ann Lee', '1.10', 'en']);
  ok(found.createdAt instanceof Date);
});

step('duplicates and validation', async () => {
  const error = await fails(11000, Author.create({ email: 'ann@example.org' }));
  equal(error.keyValue, { email: 'ann@example.org' });
  const invalid = await fails(undefined, Author.create({ email: 'x', score: -1 }));
  equal(invalid.name, 'ValidationError');
});

step('changes only what changed', async () => {
  const found = await Author.findOne({ email: 'ann@example.org' });
  found.tags.push('a', 'b');
  found.score += 5;
  found.settings.set('color', 'red');
  await found.save();
  found.tags.pull('a');
  await found.save();
  const again = await Author.findById(found.id).lean();
  equal([again.tags, again.score, again.settings.color ?? again.settings.get('color')], [['b'], 5, 'red']);
});

step('populates', async () => {
  await Book.create([1, 2, 3].map(i => ({ title: `b${i}`, author: ann, chapters: [{ title: 'one', pages: i }], cover: Buffer.from('x') })));
  const books = await Book.find().sort('-title').populate('author', 'email').exec();
  equal(books.map(b => [b.title, b.author.email]), [['b3', 'ann@example.org'], ['b2', 'ann@example.org'], ['b1', 'ann@example.org']]);
});

step('versions', async () => {
  const [one, two] = [await Book.findOne({ title: 'b1' }), await Book.findOne({ title: 'b1' })];
  one.title = 'first';
  await one.save();
  two.title = 'second';
  equal((await fails(undefined, two.save())).name, 'VersionError');
});

step('queries', async () => {
  equal(await Book.countDocuments({ 'chapters.pages': { $gte: 2 } }), 2);
  equal((await Book.find({ title: /^B/i }).select('title -_id').limit(1).lean())[0], { title: 'b2' });
  equal(await Book.exists({ title: 'none' }), null);
  equal((await Book.distinct('title')).sort(), ['b2', 'b3', 'first']);
  equal((await Book.where('chapters.pages').gt(1).lt(3)).length, 1);
  equal(await Book.estimatedDocumentCount(), 3);
});

step('updates', async () => {
  equal((await Book.updateMany({}, { $push: { chapters: { title: 'two', pages: 9 } } })).modifiedCount, 3);
  const found = await Book.findOneAndUpdate({ title: 'b2' }, { $set: { 'chapters.$[c].pages': 10 } }, { arrayFilters: [{ 'c.title': 'two' }], returnDocument: 'after' });
  equal(found.chapters[1].pages, 10);
  const up = await Author.findOneAndUpdate({ email: 'new@example.org' }, { score: 3 }, { upsert: true, returnDocument: 'after', setDefaultsOnInsert: true });
  equal(up.score, 3);
  equal((await Author.deleteOne({ email: 'new@example.org' })).deletedCount, 1);
  equal((await Author.updateOne({ _id: ann._id }, [{ $set: { score: { $add: ['$score', 1] } } }], { updatePipeline: true })).modifiedCount, 1);
});

step('bulk writes', async () => {
  const done = await Book.bulkWrite([
    { insertOne: { document: { title: 'x' } } },
    { updateOne: { filter: { title: 'x' }, update: { title: 'y' } } },
    { deleteOne: { filter: { title: 'y' } } },
  ]);
  equal([done.insertedCount, done.modifiedCount, done.deletedCount], [1, 1, 1]);
  equal((await Book.insertMany([{ title: 'm1' }, { title: 'm2' }])).length, 2);
  const changed = await Book.find({ title: /^m/ });
  changed.forEach(b => { b.title += '!'; });
  await Book.bulkSave(changed);
  equal(await Book.countDocuments({ title: /!$/ }), 2);
});

step('cursors', async () => {
  let n = 0;
  for await (const book of Book.find().cursor({ batchSize: 2 })) n += book.title ? 1 : 0;
  equal(n, 5);
  await Book.find().cursor().eachAsync(() => { n -= 1; }, { parallel: 2 });
  equal(n, 0);
});

step('aggregation', async () => {
  const done = await Book.aggregate([
    { $match: { author: ann._id } }, { $unwind: '$chapters' },
    { $group: { _id: '$author', pages: { $sum: '$chapters.pages' } } },
    { $lookup: { from: 'authors', localField: '_id', foreignField: '_id', as: 'who' } },
  ]);
  equal([done.length, done[0].pages, done[0].who[0].email], [1, 34, 'ann@example.org']);
});

step('discriminators', async () => {
  await Circle.create({ area: 3, radius: 1 });
  await Shape.create({ area: 9 });
  equal([await Shape.countDocuments(), await Circle.countDocuments()], [2, 1]);
  ok((await Shape.findOne({ kind: 'Circle' })) instanceof Circle);
});

step('sessions', async () => {
  const session = await mongoose.startSession();
  equal((await Author.findById(ann.id).session(session)).email, 'ann@example.org');
  await session.endSession();
});

step('transactions commit', async () => {
  const other = mongoose.connection.useDb('clients_mongoose_other').model('Note', new Schema({ text: String }));
  await other.deleteMany();
  await mongoose.connection.transaction(async session => {
    const [made] = await Author.create([{ email: 'tim@example.org' }], { session });
    await Book.create([{ title: 'tims', author: made }], { session });
    await other.create([{ text: 'tim' }], { session });
    made.score = 7;
    await made.save();
    equal((await Author.findOne({ email: 'tim@example.org' }).session(session)).score, 7);
    equal(await Author.findOne({ email: 'tim@example.org' }), null);
    equal((await Book.find({ title: 'tims' }).populate('author').session(session))[0].author.score, 7);
  });
  equal((await Author.findOne({ email: 'tim@example.org' })).score, 7);
  equal([await Book.countDocuments({ title: 'tims' }), await other.countDocuments()], [1, 1]);
  await other.db.dropDatabase();
});

step('transactions abort at an exception', async () => {
  const made = new Author({ email: 'eva@example.org' });
  const error = await fails(undefined, mongoose.connection.transaction(async session => {
    await made.save({ session });
    await Book.updateMany({}, { $set: { title: 'changed' } }).session(session);
    throw new Error('stop');
  }));
  equal([error.message, made.isNew], ['stop', true]);
  equal([await Author.exists({ email: 'eva@example.org' }), await Book.exists({ title: 'changed' })], [null, null]);
  const invalid = await fails(undefined, mongoose.connection.transaction(
    session => Author.create([{ email: 'x' }, { score: -1 }], { session, ordered: true }),
  ));
  equal(invalid.name, 'ValidationError');
  equal(await Author.exists({ email: 'x' }), null);
});

step('transactions are repeated until they commit', async () => {
  const { id } = await Author.create({ email: 'counter@example.org' });
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 10; i += 1) {
      await mongoose.connection.transaction(async session => {
        const found = await Author.findById(id).session(session);
        found.score += 1;
        await found.save();
      });
    }
  }));
  equal((await Author.findById(id)).score, 80);
});

step('conflicts and duplicates abort transactions', async () => {
  const [one, two] = [await mongoose.startSession(), await mongoose.startSession()];
  one.startTransaction();
  two.startTransaction();
  await Author.updateOne({ _id: ann._id }, { name: { first: 'One' } }).session(one);
  const conflict = await fails(112, Author.updateOne({ _id: ann._id }, { name: { first: 'Two' } }).session(two));
  ok(conflict.hasErrorLabel('TransientTransactionError'));
  await two.abortTransaction();
  await one.commitTransaction();
  equal((await Author.findById(ann.id)).name.first, 'One');
  two.startTransaction();
  await Author.create([{ email: 'uma@example.org' }], { session: two });
  const duplicate = await fails(11000, Author.create([{ email: 'ann@example.org' }], { session: two }));
  equal(duplicate.keyValue, { email: 'ann@example.org' });
  await fails(251, Author.findById(ann.id).session(two));
  await two.abortTransaction();
  equal(await Author.exists({ email: 'uma@example.org' }), null);
  await Promise.all([one.endSession(), two.endSession()]);
});

step('cursors of transactions', async () => {
  await mongoose.connection.transaction(async session => {
    await Shape.insertMany(Array.from({ length: 50 }, (_, i) => ({ area: i + 100 })), { session });
    let n = 0;
    const large = { area: { $gte: 100 } };
    for await (const shape of Shape.find(large).session(session).cursor({ batchSize: 7 })) n += shape.isNew ? 0 : 1;
    equal([n, await Shape.countDocuments(large)], [50, 0]);
  });
  equal(await Shape.countDocuments({ area: { $gte: 100 } }), 50);
});

/** A stream that watches: mongoose opens it later. */
async function opened(stream) {
  while (!stream.driverChangeStream) await new Promise(resolve => { setTimeout(resolve, 10); });
  equal(await stream.driverChangeStream.tryNext(), null);
  return stream;
}

/** The next changes of a stream, which are this many. */
async function taken(stream, count) {
  const found = [];
  const late = setTimeout(() => stream.close(), 60_000);
  while (found.length < count) found.push(await stream.next());
  clearTimeout(late);
  return found;
}

step('models are watched', async () => {
  const only = [{ $match: { operationType: { $ne: 'delete' } } }];
  const stream = await opened(Book.watch(only, { fullDocument: 'updateLookup', hydrate: true }));
  const made = await Book.create({ title: 'watched', author: ann });
  await Book.deleteOne({ title: 'tims' });
  made.title = 'seen';
  await made.save();
  const events = await taken(stream, 2);
  equal(events.map(event => event.operationType), ['insert', 'update']);
  equal(events.map(event => event.documentKey._id.equals(made._id)), [true, true]);
  ok(events[1].fullDocument instanceof Book);
  equal([events[1].fullDocument.title, events[1].updateDescription.updatedFields.title], ['seen', 'seen']);
  ok(events[0].clusterTime.lessThan(events[1].clusterTime));
  await stream.close();
});

step('transactions are watched', async () => {
  const stream = await opened(mongoose.connection.watch([{ $match: { operationType: 'insert' } }]));
  const session = await mongoose.startSession();
  await fails(undefined, session.withTransaction(async () => {
    await Author.create([{ email: 'none@example.org' }], { session });
    throw new Error('stop');
  }));
  await session.withTransaction(async () => {
    const [made] = await Author.create([{ email: 'two@example.org' }], { session });
    await Book.create([{ title: 'first of two', author: made }, { title: 'second of two' }], { session, ordered: true });
  });
  await Author.create({ email: 'later@example.org' });
  const events = await taken(stream, 4);
  equal(events.map(({ fullDocument }) => fullDocument.email ?? fullDocument.title), ['two@example.org', 'first of two', 'second of two', 'later@example.org']);
  const within = events.slice(0, 3);
  equal([...new Set(within.map(event => event.lsid.id.toString('hex')))], [session.id.id.toString('hex')]);
  equal(new Set(within.map(event => String(event.clusterTime))).size, 1);
  equal([new Set(within.map(event => String(event.txnNumber))).size, events[3].lsid], [1, undefined]);
  await session.endSession();
  // The place behind an event of the transaction is one, too.
  const rest = mongoose.connection.watch([], { resumeAfter: events[0]._id });
  equal((await taken(rest, 3)).map(({ fullDocument }) => fullDocument.title ?? fullDocument.email), ['first of two', 'second of two', 'later@example.org']);
  await Promise.all([stream.close(), rest.close()]);
});

step('connections', async () => {
  equal(mongoose.connection.readyState, 1);
  ok((await mongoose.connection.listCollections()).length >= 3);
  await Author.createCollection();
  await mongoose.connection.createCollection('capless');
  await mongoose.connection.dropCollection('capless');
});

await runAll(() => mongoose.disconnect());

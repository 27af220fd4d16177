import static com.mongodb.client.model.Filters.and;
import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gt;
import static com.mongodb.client.model.Filters.in;
import static com.mongodb.client.model.Filters.lt;
import static com.mongodb.client.model.Filters.regex;

import com.mongodb.ClientSessionOptions;
import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoCommandException;
import com.mongodb.MongoException;
import com.mongodb.MongoWriteException;
import com.mongodb.ReadConcern;
import com.mongodb.TransactionOptions;
import com.mongodb.WriteConcern;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.gridfs.GridFSBucket;
import com.mongodb.client.gridfs.GridFSBuckets;
import com.mongodb.client.model.Accumulators;
import com.mongodb.client.model.Aggregates;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.Collation;
import com.mongodb.client.model.CollationStrength;
import com.mongodb.client.model.CreateCollectionOptions;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.Projections;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.ReturnDocument;
import com.mongodb.client.model.Sorts;
import com.mongodb.client.model.UpdateManyModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.Updates;
import com.mongodb.client.model.ValidationOptions;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.bson.BsonRegularExpression;
import org.bson.BsonDocument;
import org.bson.Document;
import org.bson.types.Binary;
import org.bson.types.Decimal128;
import org.bson.types.ObjectId;

/** What programs with the Java driver do, against the server of MONGODB_URI. */
public final class Client {
    private static int passed;
    private static int failed;
    private static MongoClient client;
    private static MongoDatabase db;

    private interface Step {
        void run() throws Exception;
    }

    private static void step(String name, Step step) {
        try {
            step.run();
            passed++;
        } catch (Throwable error) {
            failed++;
            System.out.println("FAILED " + name + ": " + error);
        }
    }

    private static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }

    private static MongoException fails(int code, Step step) throws Exception {
        try {
            step.run();
        } catch (MongoException error) {
            equal(error.getCode(), code);
            return error;
        }
        throw new AssertionError("no error, expected " + code);
    }

    private static MongoCollection<Document> fresh(String name, Document... documents) {
        MongoCollection<Document> collection = db.getCollection(name);
        collection.drop();
        if (documents.length > 0) {
            collection.insertMany(Arrays.asList(documents));
        }
        return collection;
    }

    private static Document[] numbers(int n) {
        Document[] list = new Document[n];
        for (int i = 0; i < n; i++) {
            list[i] = new Document("_id", i).append("k", i % 3);
        }
        return list;
    }

    private static void documents() throws Exception {
        var c = fresh("documents");
        var made = c.insertOne(new Document("name", "rex"));
        equal(c.find(eq("name", "rex")).first().getObjectId("_id"), made.getInsertedId().asObjectId().getValue());
        var done = c.updateOne(eq("_id", 7), Updates.set("a", 1), new UpdateOptions().upsert(true));
        equal(done.getUpsertedId().asInt32().getValue(), 7);
        equal(c.replaceOne(eq("_id", 7), new Document("b", 1), new ReplaceOptions().upsert(true)).getModifiedCount(), 1L);
        equal(c.updateMany(new Document(), Updates.inc("n", 1)).getModifiedCount(), 2L);
        equal(c.deleteMany(new Document()).getDeletedCount(), 2L);
        equal(c.find().first(), null);
    }

    private static void finds() {
        var c = fresh("finds", numbers(500));
        var found = c.find(eq("k", 1)).sort(Sorts.descending("_id")).skip(1).limit(2).projection(Projections.include("_id"));
        equal(found.into(new ArrayList<>()), List.of(new Document("_id", 496), new Document("_id", 493)));
        equal(c.find().batchSize(7).into(new ArrayList<>()).size(), 500);
        try (MongoCursor<Document> cursor = c.find().batchSize(2).cursor()) {
            cursor.next();
            equal(cursor.getServerCursor() != null, true);
        }
        equal(c.countDocuments(in("k", 0, 1)), 334L);
        equal(c.estimatedDocumentCount(), 500L);
        equal(c.distinct("k", lt("_id", 2), Integer.class).into(new ArrayList<>()), List.of(0, 1));
        equal(c.find(gt("_id", 10)).maxTime(5, TimeUnit.SECONDS).comment("x").noCursorTimeout(true).first().get("_id"), 11);
    }

    private static void bulk() throws Exception {
        var c = fresh("bulk");
        var done = c.bulkWrite(List.of(
            new InsertOneModel<>(new Document("_id", 1)), new UpdateManyModel<>(new Document(), Updates.set("x", 1)),
            new DeleteOneModel<>(eq("_id", 9))));
        equal(List.of(done.getInsertedCount(), done.getModifiedCount(), done.getDeletedCount()), List.of(1, 1, 0));
        try {
            c.bulkWrite(List.of(new InsertOneModel<>(new Document("_id", 2)), new InsertOneModel<>(new Document("_id", 1)),
                new InsertOneModel<>(new Document("_id", 3))), new BulkWriteOptions().ordered(false));
            throw new AssertionError("no error");
        } catch (MongoBulkWriteException error) {
            equal(error.getWriteErrors().get(0).getCode(), 11000);
            equal(error.getWriteResult().getInsertedCount(), 2);
        }
    }

    private static void arrays() throws Exception {
        var c = fresh("arrays", Document.parse("{_id: 1, l: [{a: 1}, {a: 5}]}"));
        c.updateOne(new Document(), Updates.set("l.$[big].b", 1), new UpdateOptions().arrayFilters(List.of(gt("big.a", 2))));
        equal(c.find().first(), Document.parse("{_id: 1, l: [{a: 1}, {a: 5, b: 1}]}"));
        c.updateMany(new Document(), List.of(Document.parse("{$set: {n: {$size: '$l'}}}")));
        equal(c.find().first().getInteger("n"), 2);
        fails(66, () -> c.updateOne(new Document(), Updates.set("_id", 2)));
    }

    private static void aggregates() {
        var c = fresh("sums", numbers(30));
        var found = c.aggregate(List.of(Aggregates.group("$k", Accumulators.sum("n", 1)), Aggregates.sort(Sorts.ascending("_id")),
            Aggregates.lookup("sums", "_id", "_id", "j"))).into(new ArrayList<>());
        equal(found.size(), 3);
        equal(found.get(0).getInteger("n"), 10);
        equal(found.get(0).getList("j", Document.class).size(), 1);
        c.aggregate(List.of(Aggregates.match(eq("k", 1)), Aggregates.out("copied"))).toCollection();
        equal(db.getCollection("copied").countDocuments(), 10L);
    }

    private static void indexes() throws Exception {
        var c = fresh("indexed");
        equal(c.createIndex(Indexes.ascending("email"), new IndexOptions().unique(true)), "email_1");
        equal(c.createIndex(Indexes.ascending("at"), new IndexOptions().expireAfter(60L, TimeUnit.SECONDS)), "at_1");
        c.createIndex(Indexes.descending("p"), new IndexOptions().partialFilterExpression(eq("a", 1)).background(true));
        var names = new ArrayList<String>();
        c.listIndexes().forEach(index -> names.add(index.getString("name")));
        equal(names, List.of("_id_", "email_1", "at_1", "p_-1"));
        c.insertOne(new Document("email", "a"));
        fails(11000, () -> c.insertOne(new Document("email", "a")));
        c.dropIndex("email_1");
        c.dropIndex(Indexes.ascending("at"));
        c.dropIndexes();
        equal(c.listIndexes().into(new ArrayList<>()).size(), 1);
    }

    private static void findOneAnd() {
        var c = fresh("modify", Document.parse("{_id: 1, n: 1}"));
        var after = new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER).projection(Projections.excludeId());
        equal(c.findOneAndUpdate(eq("_id", 1), Updates.inc("n", 1), after), new Document("n", 2));
        equal(c.findOneAndReplace(eq("_id", 1), new Document("z", 1)), Document.parse("{_id: 1, n: 2}"));
        equal(c.findOneAndDelete(eq("z", 1)), Document.parse("{_id: 1, z: 1}"));
        equal(c.findOneAndDelete(eq("z", 1)), null);
    }

    private static void sessions() throws Exception {
        var c = fresh("sessions", new Document("_id", 1));
        try (ClientSession session = client.startSession()) {
            equal(c.find(session).first(), new Document("_id", 1));
        }
    }

    /** A callback that changes two collections, and one of another database. */
    private static int move(ClientSession session) {
        db.getCollection("moved").updateOne(session, eq("_id", 1), Updates.inc("n", -3));
        db.getCollection("moves").insertOne(session, new Document("_id", "first"));
        var other = client.getDatabase("clients_java_other").getCollection("moved");
        return other.insertOne(session, new Document("_id", 1)).getInsertedId().asInt32().getValue();
    }

    private static void transactionsCommit() {
        var a = fresh("moved", Document.parse("{_id: 1, n: 10}"));
        var b = fresh("moves");
        var c = client.getDatabase("clients_java_other").getCollection("moved");
        c.drop();
        try (ClientSession session = client.startSession()) {
            equal(session.withTransaction(() -> move(session)), 1);
            session.startTransaction(TransactionOptions.builder().readConcern(ReadConcern.SNAPSHOT)
                .writeConcern(WriteConcern.MAJORITY).build());
            a.bulkWrite(session, List.of(
                new InsertOneModel<>(new Document("_id", 2)), new DeleteOneModel<>(eq("_id", 1))));
            c.findOneAndDelete(session, eq("_id", 1));
            session.commitTransaction();
            session.commitTransaction();
        }
        equal(a.find().into(new ArrayList<>()), List.of(new Document("_id", 2)));
        equal(List.of(b.countDocuments(), c.countDocuments()), List.of(1L, 0L));
        client.getDatabase("clients_java_other").drop();
    }

    private static void transactionsAbort() {
        var a = fresh("moved", Document.parse("{_id: 1, n: 10}"));
        var b = fresh("moves");
        try (ClientSession session = client.startSession()) {
            session.withTransaction(() -> {
                move(session);
                throw new IllegalStateException("stop");
            });
            throw new AssertionError("no error");
        } catch (IllegalStateException error) {
            equal(error.getMessage(), "stop");
        }
        equal(a.find().first(), Document.parse("{_id: 1, n: 10}"));
        equal(b.countDocuments(), 0L);
        equal(client.getDatabase("clients_java_other").getCollection("moved").countDocuments(), 0L);
    }

    private static void transactionsRepeat() throws Exception {
        var c = fresh("counters", Document.parse("{_id: 0, n: 0}"));
        var threads = Executors.newFixedThreadPool(8);
        Callable<Void> count = () -> {
            try (ClientSession session = client.startSession()) {
                for (int i = 0; i < 10; i++) {
                    session.withTransaction(() -> {
                        int n = c.find(session, eq("_id", 0)).first().getInteger("n");
                        return c.updateOne(session, eq("_id", 0), Updates.set("n", n + 1));
                    });
                }
            }
            return null;
        };
        for (var done : threads.invokeAll(Collections.nCopies(8, count))) {
            done.get();
        }
        threads.shutdown();
        equal(c.find().first().getInteger("n"), 80);
    }

    private static void transactionsConflict() throws Exception {
        var c = fresh("conflicts", Document.parse("{_id: 1, n: 0}"));
        try (ClientSession one = client.startSession(); ClientSession two = client.startSession()) {
            one.startTransaction();
            two.startTransaction();
            c.updateOne(one, eq("_id", 1), Updates.inc("n", 1));
            var conflict = fails(112, () -> c.updateOne(two, eq("_id", 1), Updates.inc("n", 1)));
            equal(conflict.hasErrorLabel(MongoException.TRANSIENT_TRANSACTION_ERROR_LABEL), true);
            two.abortTransaction();
            one.commitTransaction();
        }
        equal(c.find().first(), Document.parse("{_id: 1, n: 1}"));
    }

    private static void transactionsRead() {
        var c = fresh("own", numbers(100));
        try (ClientSession session = client.startSession()) {
            session.startTransaction();
            c.insertMany(session, Arrays.asList(numbers(150)).subList(100, 150));
            c.deleteOne(session, eq("_id", 0));
            var found = new ArrayList<Integer>();
            try (MongoCursor<Document> cursor = c.find(session).batchSize(20).cursor()) {
                found.add(cursor.next().getInteger("_id"));
                c.insertOne(new Document("_id", 1000));
                cursor.forEachRemaining(document -> found.add(document.getInteger("_id")));
            }
            equal(found, IntStream.range(1, 150).boxed().toList());
            equal(List.of(c.countDocuments(session), c.countDocuments()), List.of(149L, 101L));
            equal(c.distinct(session, "k", Integer.class).into(new ArrayList<>()).size(), 3);
            session.commitTransaction();
        }
        equal(c.countDocuments(), 150L);
    }

    private static void streamsResume() {
        var c = fresh("watched");
        BsonDocument token;
        try (var stream = c.watch().cursor()) {
            for (int i = 0; i < 10; i++) {
                c.insertOne(new Document("_id", i));
            }
            for (int i = 0; i < 3; i++) {
                equal(stream.next().getDocumentKey().getInt32("_id").getValue(), i);
            }
            token = stream.getResumeToken();
        }
        c.deleteOne(eq("_id", 9));
        try (var stream = c.watch().resumeAfter(token).cursor()) {
            for (int id : new int[] {3, 4, 5, 6, 7, 8, 9, 9}) {
                equal(stream.next().getDocumentKey().getInt32("_id").getValue(), id);
            }
            equal(stream.tryNext(), null);
        }
    }

    private static void transactionsWithDuplicates() throws Exception {
        var c = fresh("unique_within", Document.parse("{_id: 1, email: 'a'}"));
        c.createIndex(Indexes.ascending("email"), new IndexOptions().unique(true));
        try (ClientSession session = client.startSession()) {
            session.startTransaction();
            c.insertOne(session, Document.parse("{_id: 2, email: 'b'}"));
            fails(11000, () -> c.insertOne(session, Document.parse("{_id: 3, email: 'a'}")));
            fails(251, () -> c.insertOne(session, Document.parse("{_id: 4, email: 'd'}")));
            session.abortTransaction();
        }
        equal(c.countDocuments(), 1L);
    }

    private static void causalSessions() {
        var c = fresh("causal");
        var causal = ClientSessionOptions.builder().causallyConsistent(true).build();
        try (ClientSession one = client.startSession(causal); ClientSession two = client.startSession(causal)) {
            c.insertOne(one, new Document("_id", 1));
            two.advanceClusterTime(one.getClusterTime());
            two.advanceOperationTime(one.getOperationTime());
            equal(c.find(two).first(), new Document("_id", 1));
            two.withTransaction(() -> c.insertOne(two, new Document("_id", 2)));
            equal(two.getOperationTime().compareTo(one.getOperationTime()) > 0, true);
        }
    }

    private static void files() {
        GridFSBucket bucket = GridFSBuckets.create(db);
        byte[] data = new byte[700_000];
        Arrays.fill(data, (byte) 7);
        ObjectId id = bucket.uploadFromStream("a.bin", new ByteArrayInputStream(data));
        var found = new ByteArrayOutputStream();
        bucket.downloadToStream(id, found);
        equal(Arrays.equals(found.toByteArray(), data), true);
        bucket.rename(id, "b.bin");
        equal(bucket.find(eq("filename", "b.bin")).first().getLength(), 700_000L);
        bucket.delete(id);
        bucket.drop();
    }

    private static void values() {
        var c = fresh("values");
        var document = new Document("_id", new ObjectId()).append("d", Decimal128.parse("12.50")).append("at", new Date(-1))
            .append("b", new Binary(new byte[] {0, -1})).append("r", new BsonRegularExpression("^a", "i")).append("l", 1L << 40);
        c.insertOne(document);
        equal(c.find(and(eq("at", new Date(-1)), gt("d", 12))).first().get("d"), Decimal128.parse("12.50"));
        c.insertOne(new Document("s", "Abc").append("u", UUID.randomUUID().toString()));
        equal(c.countDocuments(regex("s", Pattern.compile("^a", Pattern.CASE_INSENSITIVE))), 1L);
        var collation = Collation.builder().locale("en").collationStrength(CollationStrength.SECONDARY).build();
        equal(c.find(eq("s", "aBC")).collation(collation).into(new ArrayList<>()).size(), 1);
    }

    private static void administration() throws Exception {
        equal(client.listDatabaseNames().into(new ArrayList<>()).contains(db.getName()), true);
        db.getCollection("checked").drop();
        db.createCollection("checked", new CreateCollectionOptions().validationOptions(
            new ValidationOptions().validator(Document.parse("{a: {$exists: true}}"))));
        var checked = db.getCollection("checked");
        fails(121, () -> checked.insertOne(new Document("b", 1)));
        db.createView("view", "values", List.of(Aggregates.limit(1)));
        equal(db.getCollection("view").countDocuments(), 1L);
        fails(59, () -> db.runCommand(new Document("nonsense", 1)));
        fails(48, () -> db.createCollection("checked"));
        checked.renameCollection(new com.mongodb.MongoNamespace(db.getName(), "renamed"));
        equal(db.listCollectionNames().into(new ArrayList<>()).contains("renamed"), true);
        equal(db.getCollection("values").find().explain().getDouble("ok"), 1.0);
        db.getCollection("w").withWriteConcern(WriteConcern.JOURNALED).insertOne(new Document());
        db.getCollection("w").withWriteConcern(WriteConcern.UNACKNOWLEDGED).insertOne(new Document());
        db.drop();
    }

    public static void main(String[] arguments) {
        if (arguments.length == 2) {
            // One document, for addresses.py.
            try (MongoClient one = MongoClients.create(arguments[0])) {
                one.getDatabase("addresses").getCollection("seen").insertOne(new Document("_id", arguments[1]));
            }
            return;
        }
        client = MongoClients.create(System.getenv("MONGODB_URI"));
        db = client.getDatabase("clients_java");
        db.drop();
        step("documents", Client::documents);
        step("finds", Client::finds);
        step("bulk writes", Client::bulk);
        step("arrays", Client::arrays);
        step("aggregates", Client::aggregates);
        step("indexes", Client::indexes);
        step("find one and …", Client::findOneAnd);
        step("sessions", Client::sessions);
        step("transactions commit", Client::transactionsCommit);
        step("transactions abort", Client::transactionsAbort);
        step("transactions are repeated", Client::transactionsRepeat);
        step("transactions conflict", Client::transactionsConflict);
        step("transactions read their own writes", Client::transactionsRead);
        step("transactions with duplicates", Client::transactionsWithDuplicates);
        step("streams resume", Client::streamsResume);
        step("causal sessions", Client::causalSessions);
        step("files", Client::files);
        step("values", Client::values);
        step("administration", Client::administration);
        client.close();
        System.out.println(passed + " passed, " + failed + " failed");
    }
}

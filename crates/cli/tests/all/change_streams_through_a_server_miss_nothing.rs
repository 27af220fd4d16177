//! Clients write to a server, in transactions and without, while it is killed with -9 again and again, and a consumer reads
//! a change stream, keeps its token, and is killed and resumed, too. The consumer gets each acknowledged change once, in the
//! order of the cluster time and with the time that its writer got, and no other change; and the events, replayed into a
//! model, give the documents of each snapshot that a reader has read.

use crate::common::Place;
use crate::served::{Client as Work, Connection, KilledServer};
use alluvium::{Binary, Map, Timestamp, Value, doc};
use alluvium_testkit::seed;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const NAME: &str = "-p alluvium-cli --test all change_streams_through_a_server_miss_nothing";
const WRITERS: usize = 4;
const DOCUMENTS: i64 = 6;
const KILLS: usize = 6;
/// The number of writes between two kills.
const WRITES_BETWEEN: u64 = 60;
/// The first collection keeps the documents before changes.
const COLLECTIONS: [&str; 2] = ["pets", "toys"];
/// The value of the write after all others.
const LAST: i64 = 0;

/// The state that the clients share.
struct Shared<'a> {
    server: &'a KilledServer<'a>,
    values: AtomicI64,
    /// The number of writers that work.
    writers: AtomicU64,
}

impl Shared<'_> {
    /// A value that no other write has.
    fn value(&self) -> i64 {
        self.values.fetch_add(1, Ordering::SeqCst)
    }
}

/// The kind of a change, and the value that it writes, or that it deletes.
type Change = (&'static str, i64);

/// The time of a write, if its first attempt was answered. The reply to a repetition has a later one.
type Times = BTreeMap<Change, Option<Timestamp>>;

/// The documents of both collections by their names and `_id`s.
type Documents = BTreeMap<(String, i64), Map>;

/// The results of a client.
enum Done {
    Wrote(Times),
    Consumed(Vec<Map>, u64),
    Read(Vec<(Timestamp, Documents)>),
}

fn integer(map: &Map, name: &str) -> i64 {
    map.get(name).and_then(Value::as_i64).unwrap_or_else(|| panic!("{name} of {map}"))
}

fn field<'m>(map: &'m Map, name: &str) -> Option<&'m Map> {
    map.get(name).and_then(Value::as_map)
}

fn time(map: &Map, name: &str) -> Timestamp {
    match map.get(name) {
        Some(Value::Timestamp(time)) => *time,
        other => panic!("{name} is {other:?}"),
    }
}

fn is_ok(reply: &Map) -> bool {
    reply.get("ok").and_then(Value::as_f64) == Some(1.0)
}

/// The documents of a batch.
fn batch(reply: &Map) -> Vec<Map> {
    let cursor = field(reply, "cursor").unwrap_or_else(|| panic!("{reply}"));
    let batch = cursor.get("firstBatch").or_else(|| cursor.get("nextBatch")).and_then(Value::as_array);
    batch.expect("a batch").iter().map(|found| found.as_map().expect("a document").clone()).collect()
}

fn session(number: usize) -> Value {
    let bytes = vec![number as u8 + 1; 16];
    Value::Map(doc! {"id": Value::Binary(Binary { subtype: 4, bytes })})
}

fn update(collection: &str, id: i64, change: Map, upsert: bool) -> Map {
    let update = doc! {"q": {"_id": id}, "u": Value::Map(change), "upsert": upsert};
    doc! {"update": collection, "updates": Value::Array(vec![Value::Map(update)])}
}

/// Counts a writer as working until it ends or fails.
struct Working<'a>(&'a AtomicU64);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A client that writes, with its own session.
struct Writer<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    rng: fastrand::Rng,
    connection: Connection<'a>,
    /// The number of its last transaction or retryable write.
    last: i64,
    times: Times,
}

impl<'a> Writer<'a> {
    fn new(shared: &'a Shared<'a>, seed: u64, number: usize) -> Self {
        let rng = fastrand::Rng::with_seed(seed.wrapping_mul(1000) + number as u64);
        Self { shared, number, rng, connection: shared.server.connection(), last: 0, times: Times::new() }
    }

    fn run(mut self) -> Done {
        let _working = Working(&self.shared.writers);
        while !self.shared.server.is_done() {
            self.last += 1;
            match self.rng.u8(0..4) {
                0 => self.together(),
                _ => self.alone(),
            }
            self.shared.server.note_call();
        }
        Done::Wrote(self.times)
    }

    fn note(&mut self, change: Change, time: Option<Timestamp>) {
        assert!(self.times.insert(change, time).is_none(), "{change:?} was acknowledged twice");
    }

    /// An update of a document, or its replacement, and the kind of its event if the document exists.
    fn change(&mut self, collection: &str, id: i64, value: i64) -> (Map, &'static str) {
        let (body, kind) = match self.rng.u8(0..4) {
            0 => (doc! {"v": value, "n": 0}, "replace"),
            1 => (doc! {"$set": {"v": value, "mark": value}}, "update"),
            2 => (doc! {"$set": {"v": value}, "$unset": {"mark": 1}}, "update"),
            _ => (doc! {"$set": {"v": value}, "$inc": {"n": 1}}, "update"),
        };
        (update(collection, id, body, true), kind)
    }

    /// A write without a transaction, which is repeated with its number until it is acknowledged.
    fn alone(&mut self) {
        let (collection, id) = (COLLECTIONS[self.rng.usize(0..2)], self.rng.i64(0..DOCUMENTS));
        let value = self.shared.value();
        let (mut body, kind) = match self.rng.u8(0..6) {
            0 => (doc! {"insert": collection, "documents": [{"_id": id, "v": value, "n": 0}]}, "insert"),
            1..=2 => (doc! {"findAndModify": collection, "query": {"_id": id}, "remove": true}, "delete"),
            _ => self.change(collection, id, value),
        };
        body.push("lsid", session(self.number));
        body.push("txnNumber", Value::Int64(self.last));
        match self.rng.u8(0..4) {
            0 => body.push("writeConcern", doc! {"w": 1, "j": true}),
            1 => body.push("writeConcern", doc! {"w": "majority"}),
            _ => {}
        }
        let (first, reply) = match self.connection.once(body.clone()) {
            Some(reply) => (true, reply),
            None => (false, self.connection.repeated(&body)),
        };
        assert!(is_ok(&reply), "{reply}");
        let time = first.then(|| time(&reply, "operationTime"));
        match kind {
            "delete" => {
                let deleted = field(&reply, "value").map(|value| integer(value, "v"));
                deleted.into_iter().for_each(|value| self.note(("delete", value), time));
            }
            // The document may exist.
            "insert" if integer(&reply, "n") == 0 => assert!(reply.contains("writeErrors"), "{reply}"),
            "insert" => self.note(("insert", value), time),
            kind => self.note((if reply.contains("upserted") { "insert" } else { kind }, value), time),
        }
    }

    /// A transaction. It is lost with the server, and its commit is repeated.
    fn together(&mut self) {
        let mut changes: Vec<Change> = Vec::new();
        for at in 0..self.rng.usize(1..5) {
            let (collection, id) = (COLLECTIONS[self.rng.usize(0..2)], self.rng.i64(0..DOCUMENTS));
            let value = self.shared.value();
            let (body, kind) = self.change(collection, id, value);
            let Some(reply) = self.connection.once(self.within(body, at == 0)) else { return };
            if !is_ok(&reply) || reply.contains("writeErrors") {
                return;
            }
            changes.push((if reply.contains("upserted") { "insert" } else { kind }, value));
        }
        if self.rng.u8(0..8) == 0 {
            drop(self.connection.once(self.within(doc! {"abortTransaction": 1, "$db": "admin"}, false)));
            return;
        }
        let mut commit = self.within(doc! {"commitTransaction": 1, "$db": "admin"}, false);
        if self.rng.bool() {
            commit.push("writeConcern", doc! {"w": "majority", "j": true});
        }
        let (first, reply) = match self.connection.once(commit.clone()) {
            Some(reply) => (true, reply),
            None => (false, self.connection.repeated(&commit)),
        };
        if is_ok(&reply) {
            let time = first.then(|| time(&reply, "operationTime"));
            changes.into_iter().for_each(|change| self.note(change, time));
            return;
        }
        // Others have written the documents first, or the transaction was lost with the server.
        let code = reply.get("code").and_then(Value::as_i64);
        assert!(matches!(code, Some(112 | 251)), "{reply}");
    }

    fn within(&self, mut body: Map, starts: bool) -> Map {
        body.push("lsid", session(self.number));
        body.push("txnNumber", Value::Int64(self.last));
        body.push("autocommit", false);
        if starts {
            body.push("startTransaction", true);
        }
        body
    }

    /// The last write of a run.
    fn last(mut self) -> Times {
        let insert = doc! {"insert": COLLECTIONS[0], "documents": [{"_id": DOCUMENTS, "v": LAST, "n": 0}]};
        let reply = self.connection.repeated(&insert);
        assert_eq!(integer(&reply, "n"), 1, "{reply}");
        self.note(("insert", LAST), None);
        self.times
    }
}

/// A client that reads a change stream. What it has stored survives its kills, and a kill loses the rest.
struct Consumer<'a> {
    connection: Connection<'a>,
    rng: fastrand::Rng,
    /// The place that it has stored.
    token: Map,
    /// The events that it has stored.
    events: Vec<Map>,
    /// The number of its kills, and of those of its server.
    resumed: u64,
}

impl<'a> Consumer<'a> {
    /// A consumer that begins now.
    fn new(shared: &Shared<'a>, seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed ^ 0xc0);
        let (token, connection) = (Map::new(), shared.server.connection());
        let mut new = Self { connection, rng, token, events: Vec::new(), resumed: 0 };
        let opened = new.connection.repeated(&Self::watch(Map::new()));
        assert_eq!(batch(&opened), []);
        new.token = Self::token_of(&opened);
        new
    }

    /// A change stream over both collections.
    fn watch(mut options: Map) -> Map {
        options.push("fullDocumentBeforeChange", "whenAvailable");
        let stage = Map::from([("$changeStream", Value::Map(options))]);
        doc! {"aggregate": 1, "pipeline": Value::Array(vec![Value::Map(stage)]), "cursor": {}}
    }

    fn token_of(reply: &Map) -> Map {
        let token = field(reply, "cursor").and_then(|cursor| field(cursor, "postBatchResumeToken"));
        token.unwrap_or_else(|| panic!("no token: {reply}")).clone()
    }

    /// Reads until the last event.
    fn run(mut self) -> Done {
        loop {
            self.resumed += 1;
            let start = ["resumeAfter", "startAfter"][self.rng.usize(0..2)];
            let mut options = Map::new();
            options.push(start, Value::Map(self.token.clone()));
            let mut reply = self.connection.repeated(&Self::watch(options));
            let cursor = integer(field(&reply, "cursor").unwrap_or_else(|| panic!("{reply}")), "id");
            while self.store(&reply) {
                if self.events.last().is_some_and(|event| written(event) == Some(LAST)) {
                    return Done::Consumed(self.events, self.resumed);
                }
                let size = self.rng.i64(1..20);
                let more = doc! {"getMore": Value::Int64(cursor), "collection": "$cmd.aggregate", "batchSize": size, "maxTimeMS": 20};
                match self.connection.once(more) {
                    Some(next) => reply = next,
                    None => break,
                }
            }
        }
    }

    /// Stores events and the place behind them. Returns false if the consumer was killed: then it has stored all events of
    /// the batch, some, or none.
    fn store(&mut self, reply: &Map) -> bool {
        let events = batch(reply);
        let killed = !events.is_empty() && self.rng.u8(0..6) == 0;
        if !killed {
            self.token = Self::token_of(reply);
            self.events.extend(events);
            return true;
        }
        let stored = self.rng.usize(0..=events.len());
        for event in events.into_iter().take(stored) {
            self.token = field(&event, "_id").expect("a token").clone();
            self.events.push(event);
        }
        false
    }
}

/// Reads both collections at one time, again and again.
fn read(shared: &Shared<'_>) -> Done {
    let mut connection = shared.server.connection();
    let mut found = Vec::new();
    while shared.writers.load(Ordering::SeqCst) > 0 {
        let find = |name: &str, concern: Map| {
            let mut find = doc! {"find": name, "readConcern": Value::Map(concern)};
            find.push("lsid", session(WRITERS));
            find
        };
        let Some(first) = connection.once(find(COLLECTIONS[0], doc! {"level": "snapshot"})) else { continue };
        let at = time(field(&first, "cursor").unwrap_or_else(|| panic!("{first}")), "atClusterTime");
        let concern = doc! {"level": "snapshot", "atClusterTime": Value::Timestamp(at)};
        let Some(second) = connection.once(find(COLLECTIONS[1], concern)) else { continue };
        if !is_ok(&second) {
            // `SnapshotTooOld`, `SnapshotUnavailable`: a killed server forgets the state.
            let code = second.get("code").and_then(Value::as_i64);
            assert!(matches!(code, Some(239 | 246)), "{second}");
            continue;
        }
        let mut documents = Documents::new();
        for (name, reply) in COLLECTIONS.iter().zip([first, second]) {
            for document in batch(&reply) {
                documents.insert(((*name).to_owned(), integer(&document, "_id")), document);
            }
        }
        found.push((at, documents));
    }
    Done::Read(found)
}

/// The value that the change of an event writes.
fn written(event: &Map) -> Option<i64> {
    let updated = field(event, "updateDescription").and_then(|description| field(description, "updatedFields"));
    updated.or_else(|| field(event, "fullDocument")).map(|document| integer(document, "v"))
}

/// Applies an event to the documents. Returns its change.
fn apply(documents: &mut Documents, event: &Map) -> Change {
    let name = field(event, "ns").and_then(|ns| ns.get("coll")).and_then(Value::as_str).expect("a collection");
    let id = integer(field(event, "documentKey").expect("a document"), "_id");
    let before = documents.remove(&(name.to_owned(), id));
    let kept = field(event, "fullDocumentBeforeChange").cloned();
    let kind = match event.get("operationType").and_then(Value::as_str).expect("a kind") {
        "insert" => {
            assert_eq!(before, None, "{event}");
            "insert"
        }
        kind => {
            assert!(before.is_some(), "no document: {event}");
            assert_eq!(kept, before.clone().filter(|_| name == COLLECTIONS[0]), "{event}");
            ["update", "replace", "delete"].into_iter().find(|known| *known == kind).expect("a kind of ours")
        }
    };
    let after = match kind {
        "delete" => None,
        "update" => {
            let mut document = before.clone().expect("a document");
            let description = field(event, "updateDescription").expect("a difference");
            for (name, value) in &field(description, "updatedFields").expect("fields").entries {
                document.insert(name.clone(), value.clone());
            }
            for name in description.get("removedFields").and_then(Value::as_array).expect("fields") {
                document.remove(name.as_str().expect("a name"));
            }
            Some(document)
        }
        _ => field(event, "fullDocument").cloned(),
    };
    let deleted = before.filter(|_| kind == "delete").map(|document| integer(&document, "v"));
    let value = deleted.or_else(|| written(event)).expect("a value");
    if let Some(document) = after {
        documents.insert((name.to_owned(), id), document);
    }
    (kind, value)
}

/// The session and the number of the transaction of an event.
fn transaction(event: &Map) -> Option<(Value, i64)> {
    Some((field(event, "lsid")?.get("id")?.clone(), integer(event, "txnNumber")))
}

/// Checks the events against the replies to writers, and against the documents that were read.
fn check(events: &[Map], acknowledged: &Times, snapshots: &[(Timestamp, Documents)]) {
    let mut found = Times::new();
    let mut documents = Documents::new();
    let mut snapshots = snapshots.iter().peekable();
    let mut last: Option<&Map> = None;
    for event in events {
        let at = time(event, "clusterTime");
        if let Some(last) = last {
            let token = |event: &Map| field(event, "_id").and_then(|id| id.get("_data")?.as_str().map(str::to_owned));
            assert!(token(last) < token(event), "{event} after {last}");
            let before = time(last, "clusterTime");
            let is_together = before == at && transaction(last).is_some() && transaction(last) == transaction(event);
            assert!(before < at || is_together, "{event} after {last}");
        }
        last = Some(event);
        while let Some((_, read)) = snapshots.next_if(|(read, _)| *read < at) {
            assert_eq!(documents, *read, "before {event}");
        }
        let change = apply(&mut documents, event);
        assert!(found.insert(change, Some(at)).is_none(), "twice: {event}");
        match acknowledged.get(&change) {
            Some(None) => {}
            Some(Some(replied)) => assert_eq!(*replied, at, "{event}"),
            None => panic!("no acknowledged write: {event}"),
        }
    }
    snapshots.for_each(|(_, read)| assert_eq!(documents, *read, "at the end"));
    let lost: Vec<&Change> = acknowledged.keys().filter(|change| !found.contains_key(*change)).collect();
    assert!(lost.is_empty(), "these changes were acknowledged, and have no event: {lost:?}");
}

fn run(seed: u64) {
    let place = Place::new();
    let server = KilledServer::start(&place);
    let (values, writers) = (AtomicI64::new(LAST + 1), AtomicU64::new(WRITERS as u64));
    let shared = Shared { server: &server, values, writers };
    let images = doc! {"create": COLLECTIONS[0], "changeStreamPreAndPostImages": {"enabled": true}};
    assert!(is_ok(&server.connection().repeated(&images)));
    let consumer = Consumer::new(&shared, seed);
    let writer = |number| Writer::new(&shared, seed, number);
    let mut clients: Vec<Work<'_, Done>> = Vec::new();
    clients.extend((0..WRITERS).map(|number| Box::new(move || writer(number).run()) as Work<'_, Done>));
    clients.push(Box::new(|| read(&shared)));
    clients.push(Box::new(|| consumer.run()));
    // Ends the consumer, which reads until this write.
    clients.push(Box::new(|| {
        while shared.writers.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        Done::Wrote(writer(WRITERS).last())
    }));
    let (mut times, mut events, mut snapshots, mut resumed) = (Times::new(), Vec::new(), Vec::new(), 0);
    for done in server.over_kills(KILLS, WRITES_BETWEEN, clients) {
        match done {
            Done::Wrote(of_client) => times.extend(of_client),
            Done::Consumed(found, times) => (events, resumed) = (found, times),
            Done::Read(found) => snapshots = found,
        }
    }
    check(&events, &times, &snapshots);
    seed::tally("events of change streams", events.len() as u64);
    let (together, kills) = (events.iter().filter_map(transaction).count(), KILLS as u64);
    let counts = (events.len(), together, snapshots.len(), resumed);
    assert!(events.len() > 200 && together > 40 && snapshots.len() > 20 && resumed > kills, "seed {seed}: {counts:?}");
    server.end();
}

#[test]
fn change_streams_through_a_server_miss_nothing() {
    seed::each(NAME, 0, 2, run);
}

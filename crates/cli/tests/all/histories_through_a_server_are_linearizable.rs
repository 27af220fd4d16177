//! A server is killed with -9 again and again, and its clients repeat unacknowledged calls, as drivers do. Some order
//! of all calls explains every reply: no acknowledged call is lost, no call is applied twice, and a snapshot contains
//! the documents of one moment.

use crate::common::Place;
use crate::served::{Client as Work, Connection, KilledServer};
use alluvium::{Binary, Map, Value, doc};
use alluvium_testkit::concurrency::histories::checker::{Call, check};
use alluvium_testkit::concurrency::histories::file;
use alluvium_testkit::concurrency::histories::spec::{Act, Answer, Doc, Docs, Write};
use alluvium_testkit::seed;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const NAME: &str = "-p alluvium-cli --test all histories_through_a_server_are_linearizable";
const CLIENTS: usize = 6;
const DOCUMENTS: usize = 10;
const KILLS: usize = 4;
/// The number of calls between two kills.
const CALLS_BETWEEN: u64 = 300;
/// The first collection has the even documents, the second one the odd documents.
const COLLECTIONS: [&str; 2] = ["even", "odd"];

/// The state that the clients share.
struct Shared<'a> {
    server: &'a KilledServer<'a>,
    clock: AtomicU64,
    values: AtomicI64,
}

impl Shared<'_> {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A value that no other write has, even after additions.
    fn value(&self) -> i64 {
        self.values.fetch_add(1_000_000, Ordering::SeqCst)
    }
}

/// A client with its own session.
struct Client<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    rng: fastrand::Rng,
    connection: Connection<'a>,
    /// The number of its last write.
    writes: i64,
    calls: Vec<Call>,
}

fn doc_of(document: &Map) -> Doc {
    let field = |name: &str| document.get(name).and_then(Value::as_i64).expect("a number");
    (field("v"), field("n"))
}

fn documents_of(reply: &Map) -> Vec<&Map> {
    let batch = reply.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("firstBatch"));
    batch.and_then(Value::as_array).expect("a batch").iter().map(|found| found.as_map().expect("a document")).collect()
}

/// The number of documents that an update or a delete matched.
fn matched(reply: &Map) -> i64 {
    reply.get("n").and_then(Value::as_i64).expect("a count")
}

fn collection(at: usize) -> &'static str {
    COLLECTIONS[at % 2]
}

fn update(at: usize, filter: Map, change: Map, upsert: bool) -> Map {
    let update = doc! {"q": Value::Map(filter), "u": Value::Map(change), "upsert": upsert};
    doc! {"update": collection(at), "updates": Value::Array(vec![Value::Map(update)])}
}

fn by_id(at: usize) -> Map {
    doc! {"_id": at as i64}
}

fn add(field: &str, by: i64) -> Map {
    let mut fields = Map::new();
    fields.push(field, by);
    doc! {"$inc": Value::Map(fields)}
}

impl<'a> Client<'a> {
    fn new(shared: &'a Shared<'a>, seed: u64, number: usize) -> Self {
        let rng = fastrand::Rng::with_seed(seed.wrapping_mul(1000) + number as u64);
        Self { shared, number, rng, connection: shared.server.connection(), writes: 0, calls: Vec::new() }
    }

    fn any(&mut self) -> Act {
        let at = self.rng.usize(0..DOCUMENTS);
        let value = || self.shared.value();
        match self.rng.u32(0..16) {
            0..=1 => Act::Write(vec![(at, Write::Put(value()))]),
            2 => Act::Write(vec![(at, Write::Delete)]),
            3 => Act::Write(vec![(at, Write::AddN(self.rng.i64(1..9)))]),
            4 => Act::Write(vec![(at, Write::AddV(self.rng.i64(1..9)))]),
            5 => Act::Update(at, self.rng.i64(1..9)),
            6..=7 => Act::FindAndAdd(at, self.rng.i64(1..9)),
            8 => Act::Take(at),
            9..=10 => Act::Insert(at, value()),
            11 => self.swap(at),
            12 => Act::Get(at),
            13 => Act::All,
            14 => Act::Scan(at % 2),
            _ => {
                let from = self.rng.i64(0..=self.shared.values.load(Ordering::SeqCst));
                Act::Find(at % 2, from, from + self.rng.i64(0..=self.shared.values.load(Ordering::SeqCst)))
            }
        }
    }

    /// A compare-and-set of a document, whose current value is read first.
    fn swap(&mut self, at: usize) -> Act {
        match self.call(&Act::Get(at)) {
            Answer::One(Some(found)) => Act::Swap(at, found, self.shared.value()),
            _ => Act::Get(at),
        }
    }

    /// Makes calls until the end. While the server is being restarted, a client repeats its call.
    fn run(mut self) -> Vec<Call> {
        while !self.shared.server.is_done() {
            let act = self.any();
            let from = self.shared.tick();
            let answer = self.call(&act);
            let returned = Some((self.shared.tick(), answer));
            self.calls.push(Call { act, from, returned, durable: false, recovery: false, client: self.number });
            self.shared.server.note_call();
        }
        self.calls
    }

    fn call(&mut self, act: &Act) -> Answer {
        match act {
            Act::Write(writes) => {
                let [(at, write)] = writes.as_slice() else { panic!("there are no batches here") };
                let at = *at;
                self.write(match write {
                    Write::Put(v) => update(at, by_id(at), doc! {"v": *v, "n": 0}, true),
                    Write::Delete => {
                        doc! {"delete": collection(at), "deletes": [{"q": {"_id": at as i64}, "limit": 1}]}
                    }
                    Write::AddN(by) => update(at, by_id(at), add("n", *by), false),
                    Write::AddV(by) => update(at, by_id(at), add("v", *by), false),
                });
                Answer::Done
            }
            Act::Update(at, by) => {
                Answer::Whether(matched(&self.write(update(*at, by_id(*at), add("n", *by), false))) == 1)
            }
            Act::Swap(at, (v, n), to) => {
                let same = doc! {"_id": *at as i64, "v": *v, "n": *n};
                Answer::Whether(matched(&self.write(update(*at, same, doc! {"v": *to, "n": 0}, false))) == 1)
            }
            Act::FindAndAdd(at, by) => {
                let update = Value::Map(add("n", *by));
                let query = doc! {"findAndModify": collection(*at), "query": {"_id": *at as i64}, "update": update};
                self.find_and_modify(query)
            }
            Act::Take(at) => self
                .find_and_modify(doc! {"findAndModify": collection(*at), "query": {"_id": *at as i64}, "remove": true}),
            Act::Insert(at, v) => {
                let insert = doc! {"insert": collection(*at), "documents": [{"_id": *at as i64, "v": *v, "n": 0}]};
                let reply = self.write_or_duplicate(insert);
                Answer::Whether(matched(&reply) == 1)
            }
            Act::Get(at) => {
                let reply = self.read(doc! {"find": collection(*at), "filter": {"_id": *at as i64}});
                Answer::One(documents_of(&reply).first().map(|found| doc_of(found)))
            }
            Act::All => Answer::Many(self.all()),
            Act::Scan(half) => Answer::Many(placed([&self.read(doc! {"find": COLLECTIONS[*half]})])),
            Act::Find(half, from, to) => {
                let find = doc! {"find": COLLECTIONS[*half], "filter": {"v": {"$gte": *from, "$lte": *to}}};
                Answer::Many(placed([&self.read(find)]))
            }
        }
    }

    /// Reads both collections at the same time: reads the second one at the time of the first read. A killed server
    /// forgets old times, and then returns an error.
    fn all(&mut self) -> Docs {
        loop {
            let mut find = doc! {"find": COLLECTIONS[0], "readConcern": {"level": "snapshot"}};
            find.push("lsid", self.session());
            let even = self.read(find);
            let cursor = even.get("cursor").and_then(Value::as_map).expect("a cursor");
            let time = cursor.get("atClusterTime").expect("a time").clone();
            let mut find = doc! {"find": COLLECTIONS[1], "readConcern": {"level": "snapshot", "atClusterTime": time}};
            find.push("lsid", self.session());
            let odd = self.connection.repeated(&find);
            if odd.get("ok").and_then(Value::as_f64) == Some(1.0) {
                return placed([&even, &odd]);
            }
            // `SnapshotTooOld`, `SnapshotUnavailable`.
            let code = odd.get("code").and_then(Value::as_i64);
            assert!(matches!(code, Some(239 | 246)), "{odd:?}");
        }
    }

    fn find_and_modify(&mut self, query: Map) -> Answer {
        let reply = self.write(query);
        Answer::One(reply.get("value").and_then(Value::as_map).map(doc_of))
    }

    fn session(&self) -> Value {
        let bytes = vec![self.number as u8 + 1; 16];
        Value::Map(doc! {"id": Value::Binary(Binary { subtype: 4, bytes })})
    }

    fn write(&mut self, body: Map) -> Map {
        let reply = self.write_or_duplicate(body);
        assert!(reply.get("writeErrors").is_none(), "{reply:?}");
        reply
    }

    /// Sends a write with its number, so that it is applied once, no matter how often it is sent.
    fn write_or_duplicate(&mut self, mut body: Map) -> Map {
        self.writes += 1;
        body.push("lsid", self.session());
        body.push("txnNumber", Value::Int64(self.writes));
        if self.rng.u8(0..4) == 0 {
            body.push("writeConcern", doc! {"w": "majority"});
        }
        self.read(body)
    }

    fn read(&mut self, body: Map) -> Map {
        let reply = self.connection.repeated(&body);
        assert_eq!(reply.get("ok").and_then(Value::as_f64), Some(1.0), "{reply:?}");
        reply
    }
}

/// The documents of replies, each at its own position.
fn placed<'a>(replies: impl IntoIterator<Item = &'a Map>) -> Docs {
    let mut docs = vec![None; DOCUMENTS];
    for document in replies.into_iter().flat_map(documents_of) {
        let at = document.get("_id").and_then(Value::as_i64).expect("a number") as usize;
        assert!(docs[at].is_none(), "document {at} is there twice");
        docs[at] = Some(doc_of(document));
    }
    docs
}

fn history(seed: u64) -> Vec<Call> {
    let place = Place::new();
    let server = KilledServer::start(&place);
    for name in COLLECTIONS {
        let index = doc! {"createIndexes": name, "indexes": [{"key": {"v": 1}, "name": "v_1"}]};
        server.connection().repeated(&index);
    }
    let shared = Shared { server: &server, clock: AtomicU64::new(1), values: AtomicI64::new(1_000_000) };
    let client = |number| Client::new(&shared, seed, number);
    let clients = (0..CLIENTS).map(|number| Box::new(move || client(number).run()) as Work<'_, _>).collect();
    let mut calls: Vec<Call> = server.over_kills(KILLS, CALLS_BETWEEN, clients).into_iter().flatten().collect();
    // Reads all documents after another kill.
    server.restart();
    let from = shared.tick();
    let found = Answer::Many(client(CLIENTS).all());
    let returned = Some((shared.tick(), found));
    calls.push(Call { act: Act::All, from, returned, durable: false, recovery: false, client: CLIENTS });
    server.end();
    calls
}

#[test]
fn histories_through_a_server_are_linearizable() {
    seed::each(NAME, 0, 2, |seed| {
        let calls = history(seed);
        assert!(calls.len() as u64 > KILLS as u64 * CALLS_BETWEEN, "{}", calls.len());
        let first = vec![None; DOCUMENTS];
        if let Err(broken) = check(&first, &calls) {
            let kept = std::env::temp_dir().join(format!("alluvium-history-server-{seed}.jsonl"));
            std::fs::write(&kept, file::print(&first, &calls)).expect("a file");
            panic!("seed {seed}: {broken}\nthe history is kept in {}", kept.display());
        }
    });
}

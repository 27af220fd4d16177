//! Clients of a server append to lists in transactions and without, while it is killed with -9 again and again. They
//! repeat commits without a reply, as drivers do. The lists then show no aborted, intermediate or lost write, no part of a
//! transaction, and no cycle that snapshot isolation forbids; and each commit was carried out once or not at all.

use crate::common::Place;
use crate::served::{Client as Work, Connection, KilledServer};
use alluvium::{Binary, Map, Value, doc};
use alluvium_testkit::concurrency::isolation::checker::{Item, Kind, Last, Outcome, Step, Transaction, check, item};
use alluvium_testkit::seed;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const NAME: &str = "-p alluvium-cli --test all transactions_through_a_server_are_isolated";
const CLIENTS: usize = 6;
/// The clients that use no transactions.
const PLAIN: usize = 2;
const LISTS: usize = 6;
const KILLS: usize = 4;
/// The number of transactions between two kills.
const BETWEEN: u64 = 150;
/// The first collection has the even lists, the second one, of another database, the odd lists.
const DATABASES: [&str; 2] = ["even", "odd"];

/// The state that the clients share.
struct Shared<'a> {
    server: &'a KilledServer<'a>,
    clock: AtomicU64,
    items: AtomicI64,
}

impl Shared<'_> {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

/// A client with its own session.
struct Client<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    rng: fastrand::Rng,
    connection: Connection<'a>,
    /// The number of its last transaction or retryable write.
    last: i64,
    history: Vec<Transaction>,
}

fn code(reply: &Map) -> Option<i64> {
    reply.get("code").and_then(Value::as_i64)
}

fn is_ok(reply: &Map) -> bool {
    reply.get("ok").and_then(Value::as_f64) == Some(1.0) && !reply.contains("writeErrors")
}

/// True if the whole transaction may be repeated, according to the labels of the error.
fn is_transient(reply: &Map) -> bool {
    let labels = reply.get("errorLabels").and_then(Value::as_array).unwrap_or_default();
    labels.contains(&Value::from("TransientTransactionError"))
}

fn list_of(reply: &Map) -> Vec<Item> {
    let batch = reply.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("firstBatch"));
    let found = batch.and_then(Value::as_array).and_then(<[_]>::first).and_then(Value::as_map).expect("the list");
    let items = found.get("l").and_then(Value::as_array).expect("items");
    items.iter().map(|item| item.as_i64().expect("a number")).collect()
}

fn find(list: usize) -> Map {
    doc! {"find": "lists", "filter": {"_id": list as i64}}
}

fn push(list: usize, item: Item) -> Map {
    let push = Map::from([("$push", Value::Map(Map::from([("l", Value::Int64(item))])))]);
    doc! {"update": "lists", "updates": [{"q": {"_id": list as i64}, "u": Value::Map(push)}]}
}

impl<'a> Client<'a> {
    fn new(shared: &'a Shared<'a>, seed: u64, number: usize) -> Self {
        let rng = fastrand::Rng::with_seed(seed.wrapping_mul(1000) + number as u64);
        Self { shared, number, rng, connection: shared.server.connection(), last: 0, history: Vec::new() }
    }

    fn run(mut self) -> Vec<Transaction> {
        while !self.shared.server.is_done() {
            let begun = self.shared.tick();
            self.last += 1;
            let (steps, outcome) = if self.number < PLAIN { self.alone() } else { self.together() };
            let ended = self.shared.tick();
            self.history.push(Transaction { client: self.number, begun, ended, steps, outcome });
            self.shared.server.note_call();
        }
        self.history
    }

    fn list(&mut self) -> usize {
        self.rng.usize(0..LISTS)
    }

    fn item(&self) -> Item {
        item(self.shared.items.fetch_add(1, Ordering::SeqCst), Kind::Plain)
    }

    /// A call without a transaction. It waits for the transactions of others, and is repeated after a kill.
    fn alone(&mut self) -> (Vec<Step>, Outcome) {
        let list = self.list();
        if self.rng.bool() {
            let reply = self.repeated(DATABASES[list % 2], &find(list));
            return (vec![Step::Read(list, list_of(&reply))], Outcome::Committed);
        }
        let item = self.item();
        let mut body = push(list, item);
        body.push("lsid", self.session());
        body.push("txnNumber", Value::Int64(self.last));
        let reply = self.repeated(DATABASES[list % 2], &body);
        assert!(is_ok(&reply), "{reply}");
        (vec![Step::Append(list, item)], Outcome::Committed)
    }

    /// A transaction. Its statements may come over other connections, if the server is killed.
    fn together(&mut self) -> (Vec<Step>, Outcome) {
        let mut steps = Vec::new();
        for at in 0..self.rng.usize(1..5) {
            let list = self.list();
            let item = if self.rng.u8(0..3) > 0 { Some(self.item()) } else { None };
            let body = item.map_or_else(|| find(list), |item| push(list, item));
            let Some(reply) = self.once(DATABASES[list % 2], self.within(body, at == 0)) else {
                // The server was killed, and the transaction with it.
                return (steps, Outcome::Aborted);
            };
            if !is_ok(&reply) {
                assert!(is_transient(&reply), "{reply}");
                return (steps, Outcome::Aborted);
            }
            steps.push(match item {
                Some(item) => Step::Append(list, item),
                None => Step::Read(list, list_of(&reply)),
            });
        }
        if self.rng.u8(0..8) == 0 {
            let aborted = self.once("admin", self.within(doc! {"abortTransaction": 1}, false));
            assert!(aborted.is_none_or(|reply| is_ok(&reply) || is_transient(&reply)));
            return (steps, Outcome::Aborted);
        }
        let mut commit = self.within(doc! {"commitTransaction": 1}, false);
        if self.rng.bool() {
            commit.push("writeConcern", doc! {"w": "majority"});
        }
        let reply = self.repeated("admin", &commit);
        // A transaction without writes leaves no record, and is not known after a kill. What it has read counts.
        let writes = steps.iter().any(|step| matches!(step, Step::Append(..)));
        if is_ok(&reply) {
            if self.rng.u8(0..4) == 0 {
                let again = self.repeated("admin", &commit);
                assert!(is_ok(&again) || !writes && code(&again) == Some(251), "a repetition of the commit: {again}");
            }
            return (steps, Outcome::Committed);
        }
        assert!(is_transient(&reply), "{reply}");
        assert!(!writes || matches!(code(&reply), Some(112 | 251)), "{reply}");
        (steps, Outcome::Aborted)
    }

    fn session(&self) -> Value {
        let bytes = vec![self.number as u8 + 1; 16];
        Value::Map(doc! {"id": Value::Binary(Binary { subtype: 4, bytes })})
    }

    fn within(&self, mut body: Map, starts: bool) -> Map {
        body.push("lsid", self.session());
        body.push("txnNumber", Value::Int64(self.last));
        body.push("autocommit", false);
        if starts {
            body.push("startTransaction", true);
        }
        body
    }

    /// The reply to a command; `None` if the connection was lost.
    fn once(&mut self, db: &str, mut body: Map) -> Option<Map> {
        body.push("$db", db);
        self.connection.once(body)
    }

    /// Sends a command until there is a reply.
    fn repeated(&mut self, db: &str, body: &Map) -> Map {
        let mut body = body.clone();
        body.push("$db", db);
        self.connection.repeated(&body)
    }
}

/// Runs clients over kills of their server. Returns what they did, and the lists at the end.
fn history(seed: u64) -> (Vec<Transaction>, Last) {
    let place = Place::new();
    let server = KilledServer::start(&place);
    let shared = Shared { server: &server, clock: AtomicU64::new(1), items: AtomicI64::new(1) };
    let client = |number| Client::new(&shared, seed, number);
    for list in 0..LISTS {
        let insert = doc! {"insert": "lists", "documents": [{"_id": list as i64, "l": []}]};
        assert!(is_ok(&client(CLIENTS).repeated(DATABASES[list % 2], &insert)));
    }
    let clients = (0..CLIENTS).map(|number| Box::new(move || client(number).run()) as Work<'_, _>).collect();
    let history = server.over_kills(KILLS, BETWEEN, clients).into_iter().flatten().collect();
    server.restart();
    let mut last = client(CLIENTS);
    let lists = (0..LISTS).map(|list| list_of(&last.repeated(DATABASES[list % 2], &find(list)))).collect();
    server.end();
    (history, Last::Whole(lists))
}

#[test]
fn transactions_through_a_server_are_isolated() {
    seed::each(NAME, 0, 2, |seed| {
        let (history, last) = history(seed);
        let count = |outcome| history.iter().filter(|one| one.outcome == outcome).count();
        let (committed, aborted) = (count(Outcome::Committed), count(Outcome::Aborted));
        assert!(committed > 200 && aborted > 20, "seed {seed}: {committed} committed, {aborted} aborted");
        if let Err(broken) = check(&history, &last) {
            panic!("seed {seed}: {broken}");
        }
    });
}

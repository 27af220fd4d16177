//! Tests of the promises in `docs/SERVER.md`, in simulated time and on a disk that loses power. `docs/PROMISES.md`
//! lists the sentences.

mod audit;
mod concerns;
mod cursors;
mod oplog;
mod programs;
mod replay;
mod retries;
mod sessions;
mod settings;
mod snapshots;
mod streams;
mod transactions;
mod users;
mod watching;

use crate::client::Client;
use crate::config::Config;
use crate::dispatch::tests::server_of;
use crate::dispatch::{self, Reply};
use crate::fields::Fields;
use crate::security::audit::Audit;
use crate::security::login::Peer;
use crate::shared::Shared;
use alluvium::{Binary, Database, Map, Value, doc};
use alluvium_document::bson::decode_document;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_wire::{Form, Request, reply};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// A server whose time and disk the test controls. No timer syncs the log.
struct World {
    disk: Arc<MemFs>,
    clock: Arc<ManualClock>,
    shared: Shared,
}

/// A connection to the server.
struct Connection<'a> {
    shared: &'a Shared,
    client: Arc<Client>,
}

/// The memory of the database.
const MEMORY_BYTES: usize = 512 << 20;

impl World {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        Self::on(Arc::new(MemFs::new()), config)
    }

    /// A server for the database on a disk. The database is created if it does not exist. Its memory is enough for the
    /// maximum number of cursors.
    fn on(disk: Arc<MemFs>, config: Config) -> Self {
        let clock = Arc::new(ManualClock::new());
        let env = Env { fs: disk.clone(), clock: clock.clone(), rng: Arc::new(SeededRng::new(7)) };
        let never = Duration::from_secs(1 << 30);
        let db = Database::builder()
            .env(env)
            .memory(MEMORY_BYTES)
            .partitions(2)
            .sync_interval(never)
            .open("db")
            .expect("a database");
        let audit = Audit::open(&db.as_ref().env, config.audit.as_deref()).expect("a file");
        let shared = server_of(db, config, audit);
        Self { disk, clock, shared }
    }

    /// A new server after a power cut that keeps only synced data.
    fn after_a_cut(&self) -> Self {
        Self::on(self.cut(), Config::default())
    }

    /// The disk after a power cut that keeps only synced data.
    fn cut(&self) -> Arc<MemFs> {
        Arc::new(self.disk.crash_clone(u64::MAX, CrashStyle::AllLost))
    }

    /// A new server on the disk as a process that is killed now leaves it.
    fn after_a_kill(&self) -> Self {
        Self::on(Arc::new(self.disk.kill_clone()), Config::default())
    }

    fn connect(&self) -> Connection<'_> {
        let client = Arc::new(Client::new(1, Peer::socket("test".to_owned()), None));
        Connection { shared: &self.shared, client }
    }

    /// Advances the clock, and lets the server close what was not used for long.
    fn wait(&self, time: Duration) {
        self.clock.advance(time);
        self.shared.expire_transactions();
        self.shared.expire();
    }

    fn count(&self, collection: &str) -> u64 {
        self.shared.db.collection(collection).count().expect("a count")
    }
}

impl Connection<'_> {
    fn run(&self, db: &str, mut body: Map) -> Map {
        body.push("$db", db);
        let (form, sequences) = (Form::Msg, Vec::new());
        let request = Request { request_id: 1, form, body, sequences, more_to_come: false, exhaust_allowed: false };
        let executed = dispatch::execute(self.shared, &self.client, request, None, Arc::new(AtomicBool::new(false)));
        let Reply { bytes, .. } = executed.expect("a reply");
        decode_document(&bytes[reply::begin(form).len()..]).expect("a document")
    }

    fn ok(&self, db: &str, body: Map) -> Map {
        let shown = body.to_string();
        let reply = self.run(db, body);
        assert!(reply.flag("ok") && !reply.contains("writeErrors"), "{shown}: {reply}");
        reply
    }

    fn fails(&self, code: i64, db: &str, body: Map) -> Map {
        let shown = body.to_string();
        let reply = self.run(db, body);
        assert_eq!((reply.flag("ok"), reply.integer("code")), (false, Some(code)), "{shown}: {reply}");
        reply
    }
}

/// The field value that identifies a session.
fn lsid(number: u8) -> Value {
    Value::Map(Map::from([("id", Value::Binary(Binary { subtype: 4, bytes: vec![number; 16] }))]))
}

fn with(mut body: Map, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Map {
    fields.into_iter().for_each(|(name, value)| body.push(name, value));
    body
}

fn insert(id: i32) -> Map {
    doc! {"insert": "pets", "documents": [{"_id": id}]}
}

/// The documents in the batch of a reply.
fn batch(reply: &Map) -> Vec<Map> {
    let cursor = reply.document("cursor").expect("a cursor");
    let documents = cursor.elements("firstBatch").or(cursor.elements("nextBatch")).expect("a batch");
    documents.iter().filter_map(Value::as_map).cloned().collect()
}

/// The number of the cursor in a reply.
fn cursor_of(reply: &Map) -> i64 {
    reply.document("cursor").and_then(|cursor| cursor.integer("id")).expect("a cursor")
}

//! Commands that take long end at their time limit, and when they are killed.

use super::*;
use alluvium_env::mem::MemFs;
use alluvium_env::{Clock, Env, SeededRng};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that advances by a millisecond each time it is read, so that time passes with the steps of the program.
#[derive(Default)]
struct Steps(AtomicU64);

impl Clock for Steps {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.fetch_add(1, Ordering::SeqCst))
    }

    fn unix_millis(&self) -> i64 {
        1_800_000_000_000
    }
}

/// A server with 20,000 documents.
fn filled() -> Shared {
    let env = Env { fs: Arc::new(MemFs::new()), clock: Arc::new(Steps::default()), rng: Arc::new(SeededRng::new(1)) };
    let db = Database::builder().env(env).partitions(1).open("db").expect("a database");
    let audit = Audit::open(&db.as_ref().env, None).expect("no file");
    let shared = server_with(db, audit);
    let documents = (0..20_000).map(|id| doc! {"_id": id, "a": id});
    shared.db.collection("zoo.pets").insert_many(documents).expect("documents");
    shared
}

/// The names of all collections, and the options and indexes of `zoo.pets`.
fn names(shared: &Shared) -> Vec<String> {
    let collections = shared.db.collections().into_iter().map(|info| info.name);
    let pets = shared.db.collection("zoo.pets");
    let indexes = pets.indexes().expect("indexes");
    let collections = collections.chain([pets.options().expect("options").to_string()]);
    collections.chain(indexes.into_iter().map(|index| format!("{} {}", index.name, index.ready))).collect()
}

/// Commands that read all documents, or all files.
fn long() -> [Map; 4] {
    [
        doc! {"createIndexes": "pets", "indexes": [{"key": {"a": 1}, "name": "a_1", "unique": true}]},
        doc! {"cloneCollectionAsCapped": "pets", "toCollection": "log", "size": 1_000_000},
        doc! {"convertToCapped": "pets", "size": 1_000_000},
        doc! {"validate": "pets"},
    ]
}

#[test]
fn a_long_command_ends_at_its_time_limit_and_leaves_nothing() {
    for command in long() {
        let shared = filled();
        let before = names(&shared);
        let mut limited = command.clone();
        limited.push("maxTimeMS", 20);
        limited.push("$db", "zoo");
        let answer = reply(&shared, limited);
        assert_eq!(answer.integer("code"), Some(50), "{command}: {answer}");
        assert_eq!(names(&shared), before, "{command}");
        let mut unlimited = command.clone();
        unlimited.push("$db", "zoo");
        assert!(reply(&shared, unlimited).flag("ok"), "{command}");
    }
}

#[test]
fn a_long_command_ends_when_it_is_killed() {
    for mut command in long() {
        let shared = filled();
        let before = names(&shared);
        command.push("$db", "zoo");
        let request = Request {
            request_id: 1,
            form: Form::Msg,
            body: command.clone(),
            sequences: Vec::new(),
            more_to_come: false,
            exhaust_allowed: false,
        };
        let client = Arc::new(Client::new(1, Peer::socket("test".to_owned()), None));
        // `killOp` sets this flag, and the pulse sets it for a client that has disconnected.
        let answer = execute(&shared, &client, request, None, Arc::new(AtomicBool::new(true))).expect("a reply");
        let answer =
            decode_document(&answer.bytes[alluvium_wire::reply::begin(Form::Msg).len()..]).expect("a document");
        assert_eq!(answer.integer("code"), Some(11601), "{command}: {answer}");
        assert_eq!(names(&shared), before, "{command}");
    }
}

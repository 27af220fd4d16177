//! Writes with a write concern for the disk, and data that majority reads have returned, survive a power cut right
//! after the reply. Other writes may be lost: the disk loses everything that was not synced.

use crate::common::Running;
use alluvium::{Database, Map, Value, doc};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_server::Config;
use std::sync::Arc;
use std::time::Duration;

fn env_of(mem: &Arc<MemFs>) -> Env {
    Env { fs: mem.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) }
}

fn open(mem: &Arc<MemFs>) -> Database {
    // Only requests sync the log; no timer does.
    Database::builder()
        .env(env_of(mem))
        .partitions(2)
        .sync_interval(Duration::from_secs(3600))
        .open("db")
        .expect("a database")
}

/// The documents of a collection after a power cut that keeps only synced data.
fn after_a_cut(mem: &MemFs, collection: &str) -> u64 {
    let disk = Arc::new(mem.crash_clone(u64::MAX, CrashStyle::AllLost));
    let db = open(&disk);
    db.collection(collection).count().expect("a count")
}

fn insert(id: i32, concern: Option<Map>) -> Map {
    let mut body = doc! {"insert": "pets", "documents": [{"_id": id}]};
    if let Some(concern) = concern {
        body.push("writeConcern", Value::Map(concern));
    }
    body
}

#[test]
fn writes_that_asked_for_the_disk() {
    let mem = Arc::new(MemFs::new());
    let db = open(&mem);
    let server = Running::of(&db, Config::default());
    let mut client = server.client();
    // The collection exists on the disk.
    client.run("shop", insert(0, Some(doc! {"j": true})));
    assert_eq!(after_a_cut(&mem, "shop.pets"), 1);
    client.run("shop", insert(1, None));
    assert_eq!(after_a_cut(&mem, "shop.pets"), 1, "not synced yet: otherwise this test proves nothing");
    client.run("shop", insert(2, Some(doc! {"w": "majority"})));
    assert_eq!(after_a_cut(&mem, "shop.pets"), 3);
    client.run("shop", insert(3, None));
    let update =
        doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}], "writeConcern": {"j": true}};
    client.run("shop", update);
    assert_eq!(after_a_cut(&mem, "shop.pets"), 4, "what came before it, too");
    let delete = doc! {"delete": "pets", "deletes": [{"q": {"_id": 3}, "limit": 1}], "writeConcern": {"w": "majority"}};
    client.run("shop", delete);
    assert_eq!(after_a_cut(&mem, "shop.pets"), 3);
}

#[test]
fn what_majority_reads_returned() {
    let mem = Arc::new(MemFs::new());
    let db = open(&mem);
    let server = Running::of(&db, Config::default());
    let mut client = server.client();
    client.run("shop", insert(0, Some(doc! {"j": true})));
    for (id, level) in [(1, "local"), (2, "majority"), (3, "linearizable"), (4, "snapshot")] {
        client.run("shop", insert(id, None));
        let find = doc! {"find": "pets", "filter": {"_id": id}, "readConcern": {"level": level}};
        let reply = client.run("shop", find);
        let cursor = reply.get("cursor").and_then(Value::as_map).expect("a cursor");
        assert_eq!(
            cursor.get("firstBatch").and_then(Value::as_array).map(<[Value]>::len),
            Some(1),
            "{level}: {reply:?}"
        );
        let expected = if level == "local" { 1 } else { id as u64 + 1 };
        assert_eq!(after_a_cut(&mem, "shop.pets"), expected, "{level}");
    }
}

//! Many idle connections, many busy connections, and more cursors than the server keeps: all are served with few
//! threads, descriptors and bytes of memory, and abandoned cursors are closed. The figures are those of a process, and
//! therefore this test is a program of its own. With `ALLUVIUM_LOAD=full` there are 1,000 idle connections and a
//! million cursors.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests over real sockets, in real time")]

#[allow(dead_code, reason = "the other tests use more of it")]
#[path = "all/common/mod.rs"]
mod common;

use alluvium::{Database, Map, Value, doc};
use alluvium_server::Config;
use common::Running;
use std::sync::{Mutex, PoisonError};

const BUSY: usize = 64;
const ROUNDS: i64 = 40;
/// The parts in which cursors are opened while the memory is watched.
const ROUNDS_OF_CURSORS: i64 = 5;
/// The most cursors that the server keeps (`docs/SERVER.md`).
const CURSORS_MAX: i64 = 10_000;

/// True if the full load is requested.
fn is_full() -> bool {
    std::env::var("ALLUVIUM_LOAD").is_ok_and(|load| load == "full")
}

fn number(map: &Map, path: &[&str]) -> i64 {
    let (last, before) = path.split_last().unwrap();
    let inner = before.iter().fold(map, |map, name| map.get(name).and_then(Value::as_map).unwrap());
    inner.get(last).and_then(Value::as_i64).unwrap()
}

/// The tests measure their own process. Therefore, only one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// The resident memory of this process, in bytes.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok()).unwrap() << 10
}

#[test]
fn idle_and_busy_connections_are_served_together() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let db = Database::in_memory().unwrap();
    let served = Running::of(&db, Config::default());
    let count = if is_full() { 1000 } else { 300 };
    let mut idle: Vec<_> = (0..count).map(|_| served.client()).collect();
    for client in &mut idle {
        assert_eq!(client.code("admin", doc! {"ping": 1}), None);
    }
    let with_idle = threads();
    std::thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                let mut client = served.client();
                for _ in 0..ROUNDS {
                    let change = doc! {"q": {"_id": 1}, "u": {"$inc": {"n": 1}}, "upsert": true};
                    let reply = client.run("main", doc! {"update": "counters", "updates": [change]});
                    assert_eq!(number(&reply, &["n"]), 1, "{reply}");
                    let reply = client.run("main", doc! {"find": "counters", "filter": {"_id": 1}});
                    assert_eq!(number(&reply, &["cursor", "id"]), 0, "{reply}");
                }
            });
        }
    });
    let counter = db.collection("counters").get(1).unwrap().unwrap();
    assert_eq!(number(&counter.to_map().unwrap(), &["n"]), BUSY as i64 * ROUNDS);
    // There is no thread for each connection.
    assert!(with_idle < 100, "{with_idle} threads");
    for client in &mut idle {
        assert_eq!(client.code("admin", doc! {"ping": 1}), None);
    }
}

#[test]
fn more_clients_are_busy_than_requests_may_run() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let db = Database::in_memory().unwrap();
    let served = Running::of(&db, Config { threads: 2, ..Config::default() });
    std::thread::scope(|scope| {
        for n in 0..16 {
            let mut client = served.client();
            scope.spawn(move || {
                for round in 0..200 {
                    let reply =
                        client.run("main", doc! {"insert": "numbers", "documents": [{"_id": (n * 1000 + round)}]});
                    assert_eq!(number(&reply, &["n"]), 1, "{reply}");
                    if round % 50 == n {
                        // Longer than the thread of a connection waits for a request.
                        std::thread::sleep(std::time::Duration::from_millis(40));
                    }
                }
            });
        }
    });
    assert_eq!(db.collection("numbers").count().unwrap(), 16 * 200);
}

#[test]
fn cursors_that_are_left_make_room_for_others() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let db = Database::in_memory().unwrap();
    db.collection("pets").insert_many([r#"{"_id": 1}"#, r#"{"_id": 2}"#, r#"{"_id": 3}"#]).unwrap();
    let served = Running::of(&db, Config::default());
    let mut client = served.client();
    let open = || doc! {"find": "pets", "batchSize": 1};
    let first = number(&client.run("main", open()), &["cursor", "id"]);
    // The arenas of the allocator grow for a while; afterwards, existing memory is used again.
    let (before, more) = if is_full() { (500_000, 500_000) } else { (CURSORS_MAX, 2000) };
    for _ in 0..before {
        client.run("main", open());
    }
    let full = memory();
    let mut last = first;
    let mut grown = Vec::new();
    for _ in 0..ROUNDS_OF_CURSORS {
        let before = memory();
        for _ in 0..more / ROUNDS_OF_CURSORS {
            last = number(&client.run("main", open()), &["cursor", "id"]);
        }
        grown.push(memory().saturating_sub(before));
    }
    // New cursors reuse the memory of closed ones. Memory that is not freed grows in every round. When another thread of
    // the server takes over the connection, the allocator may take another arena, once for each thread.
    let least = grown.iter().copied().min().unwrap();
    assert!(least < 4 << 20, "{full} bytes before; grown by {grown:?}");
    assert!(memory() < full + (128 << 20), "{full} bytes before, {} after", memory());
    let status = client.run("admin", doc! {"serverStatus": 1});
    let total = number(&status, &["metrics", "cursor", "open", "total"]);
    assert!((CURSORS_MAX / 2..=CURSORS_MAX).contains(&total), "{total}");
    assert_eq!(client.code("main", doc! {"getMore": first, "collection": "pets"}), Some(43));
    let reply = client.run("main", doc! {"getMore": last, "collection": "pets"});
    let batch = reply.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("nextBatch"));
    assert_eq!(batch.and_then(Value::as_array).map(<[Value]>::len), Some(2), "{reply}");
}

/// A running scan holds the current document of each partition, either in a block of a file or as a copy from a
/// memtable. A cursor that is not read must not hold such documents.
#[test]
fn cursors_that_are_left_hold_no_large_documents() {
    const CURSORS: usize = 60;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(64 << 20).open(dir.path().join("db")).unwrap();
    let text = "x".repeat(1 << 20);
    for name in ["in_files", "in_memtables"] {
        let large = db.collection(name);
        (0..12).for_each(|id| drop(large.insert_one(doc! {"_id": id, "text": (text.as_str())}).unwrap()));
        if name == "in_files" {
            db.flush().unwrap();
        }
    }
    let served = Running::of(&db, Config::default());
    let mut client = served.client();
    for name in ["in_files", "in_memtables"] {
        let open = || doc! {"find": name, "batchSize": 1, "projection": {"_id": 1}};
        client.run("main", open());
        let before = memory();
        let mut last = 0;
        for _ in 0..CURSORS {
            last = number(&client.run("main", open()), &["cursor", "id"]);
        }
        // Four documents in each cursor would take 240 MB.
        let grown = memory().saturating_sub(before);
        assert!(grown < CURSORS << 20, "{grown} bytes for {CURSORS} cursors of documents {name}");
        let reply = client.run("main", doc! {"getMore": last, "collection": name});
        let batch = reply.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("nextBatch"));
        assert_eq!(batch.and_then(Value::as_array).map(<[Value]>::len), Some(11), "{reply}");
    }
}

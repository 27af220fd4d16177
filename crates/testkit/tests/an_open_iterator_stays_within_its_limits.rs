//! An iterator is left open while every document is rewritten again and again. Memory stays within the budget, and the
//! space is freed when the iterator is closed. When it exceeds the limits for snapshots, the iterator is ended with an
//! error that says so.
#![cfg(not(feature = "shuttle"))]

use alluvium::{Collection, Database, Durability, ErrorKind, Value};
use alluvium_store::Options;
use alluvium_testkit::{World, pressure, seed};
use std::time::Duration;

const COUNT: u64 = 3000;

fn open(world: &World, limit: u64) -> (Database, Collection) {
    let options = Options {
        partitions: Some(2),
        memory_bytes: 8 << 20,
        threads: Some(1),
        durability: Durability::Bulk,
        snapshot_max_debt_bytes: Some(limit),
        background: false,
        ..Options::default()
    };
    let db = world.open(&options).unwrap();
    let documents = db.create_collection("documents").run().unwrap();
    (db, documents)
}

/// Rewrites every document.
fn rewrite(db: &Database, documents: &Collection, round: u64) {
    let mut text = pressure::Text::new(round, round);
    for id in 0..COUNT {
        let mut map = alluvium_testkit::map_of(&text.document(id, 400));
        map.insert("round", round as i64);
        documents.put(id as i64, map).unwrap();
    }
    db.compact().run().unwrap();
    let stats = db.stats();
    let held = stats.memtable_bytes + stats.job_bytes + stats.cache_bytes + stats.pinned_bytes;
    assert!(held * 100 <= stats.memory_budget_bytes * 115, "round {round}: {held} bytes of memory");
}

/// The total size in bytes of the sorted files on the disk.
fn on_disk(world: &World) -> u64 {
    let dirs = ["db/p000", "db/p001"].map(|dir| world.env.fs.list(dir.as_ref()).unwrap());
    dirs.iter().flatten().filter(|entry| entry.name.ends_with(".sst")).map(|entry| entry.len).sum()
}

#[test]
fn space_is_given_back_when_it_is_closed() {
    let world = World::new(1);
    let (db, documents) = open(&world, u64::MAX);
    rewrite(&db, &documents, 0);
    let one = on_disk(&world);
    let mut open = documents.scan().run().unwrap();
    assert!(open.next().unwrap().is_ok());
    for round in 1..6 {
        rewrite(&db, &documents, round);
        let now = on_disk(&world);
        // These are the files that the iterator reads, the current files, and files that no merge has processed yet.
        // Their number does not grow with the rounds.
        assert!(now < one * 4, "round {round}: {now} bytes, {one} at first");
    }
    for found in open {
        let map = found.unwrap().to_map().unwrap();
        assert_eq!(map.get("round").and_then(Value::as_i64), Some(0), "it reads one moment");
    }
    db.compact().run().unwrap();
    db.store().run_pending().unwrap();
    let closed = on_disk(&world);
    assert!(closed * 2 < one * 3, "closed: {closed} bytes, {one} at first");
    seed::tally_rare();
}

#[test]
fn it_is_ended_when_it_keeps_too_much_or_lives_too_long() {
    let world = World::new(2);
    let (db, documents) = open(&world, 100 << 10);
    rewrite(&db, &documents, 0);
    let one = on_disk(&world);
    let mut open = documents.scan().run().unwrap();
    assert!(open.next().unwrap().is_ok());
    rewrite(&db, &documents, 1);
    db.store().run_pending().unwrap();
    assert_eq!(open.next().unwrap().unwrap_err().kind(), ErrorKind::SnapshotTooOld);
    db.compact().run().unwrap();
    // After the error the iterator still exists, but its files are released.
    assert!(on_disk(&world) * 2 < one * 3, "{} bytes, {one} at first", on_disk(&world));
    let mut open = documents.scan().run().unwrap();
    assert!(open.next().unwrap().is_ok());
    world.clock.advance(Duration::from_secs(3601));
    db.store().run_pending().unwrap();
    assert_eq!(open.next().unwrap().unwrap_err().kind(), ErrorKind::SnapshotTooOld);
    seed::tally_rare();
}

//! A database that was written with a large memory budget and then killed can be opened with a small one: memtables are
//! flushed while the log is replayed.
#![cfg(not(feature = "shuttle"))]

use alluvium::Durability;
use alluvium_store::Options;
use alluvium_testkit::{World, pressure, seed};

#[test]
fn a_log_larger_than_memory_is_replayed_within_the_budget() {
    seed::each("a_log_larger_than_memory_is_replayed_within_the_budget", 0, 2, |seed| {
        let world = World::new(seed);
        let options = |memory_bytes| Options {
            memory_bytes,
            durability: Durability::Bulk,
            disk_reserve_bytes: Some(0),
            background: false,
            ..Options::default()
        };
        let db = world.open(&options(64 << 20)).unwrap();
        let mut text = pressure::Text::new(seed, 0);
        let documents = db.collection("documents");
        for id in 0..8000 {
            documents.insert_one(text.document(id, 1000)).unwrap();
        }
        assert_eq!(db.stats().flushed_bytes, 0, "all of it is in memory");
        let killed = world.killed();
        drop(db);
        let before = alluvium_store::marks::FLUSH_DURING_REPLAY.hits();
        let db = killed.open(&options(8 << 20)).unwrap();
        assert!(alluvium_store::marks::FLUSH_DURING_REPLAY.hits() > before, "it did not fit");
        let stats = db.stats();
        assert!(stats.memtable_bytes * 2 <= 8 << 20, "{} bytes of memtables", stats.memtable_bytes);
        assert_eq!(db.collection("documents").count().unwrap(), 8000);
        let mut text = pressure::Text::new(seed, 0);
        for id in 0..8000 {
            let expected = alluvium_testkit::map_of(&text.document(id, 1000));
            let found = db.collection("documents").get(id as i64).unwrap().expect("it was acknowledged");
            assert_eq!(found.to_map().unwrap(), expected);
        }
    });
}

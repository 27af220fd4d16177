//! A build that was stopped, or whose process was killed, continues: in the same database, or after
//! the next open.

use alluvium::{Database, Error, ErrorKind, Map, Value};
use alluvium_testkit::IndexEntries;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DOCUMENTS: i32 = 3000;

fn open(env: &alluvium_env::Env) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).partitions(4).open(Path::new("db")).unwrap()
}

fn filled(env: &alluvium_env::Env) -> Database {
    let db = open(env);
    let mut batch = db.write_batch();
    for id in 0..DOCUMENTS {
        batch.put(&db.collection("pets"), id, Map::from([("a", Value::from(id % 10))])).unwrap();
    }
    batch.commit().unwrap();
    db
}

#[test]
fn the_same_command_goes_on() {
    let env = alluvium_env::Env::in_memory(1);
    let db = filled(&env);
    let pets = db.collection("pets");
    let stop = Arc::new(AtomicBool::new(true));
    let build = pets.create_index(r#"{"a": 1}"#).stop_when(stop.clone()).start().unwrap();
    assert!(build.is_new());
    let error = build.run().unwrap_err();
    assert!(matches!(error, Error::Stopped) && error.kind() == ErrorKind::Stopped);
    // The index is declared and maintained by writes, but not used by queries.
    assert!(!pets.indexes().unwrap()[1].ready);
    pets.put(1, r#"{"a": 77}"#).unwrap();
    assert!(pets.index_entries(&db.snapshot(), "a_1", false).is_err());
    let stats = &pets.index_stats().unwrap()[0];
    assert!(!stats.ready && stats.build.is_some(), "{stats:?}");
    let report = db.verify().run().unwrap();
    assert!(report.damage.is_empty() && !report.indexes[0].ready, "{:?}", report.damage);

    stop.store(false, Ordering::SeqCst);
    let build = pets.create_index(r#"{"a": 1}"#).stop_when(stop).start().unwrap();
    assert!(!build.is_new());
    let progress = build.progress();
    build.run().unwrap();
    assert_eq!(progress.documents(), DOCUMENTS as u64);
    assert!(progress.documents_expected().abs_diff(DOCUMENTS as u64) < 600, "{progress:?}");
    assert_eq!(pets.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), DOCUMENTS as usize);
    assert_eq!(db.verify().run().unwrap().damage.len(), 0);
}

#[test]
fn opening_goes_on() {
    let env = alluvium_env::Env::in_memory(1);
    let db = filled(&env);
    let stop = Arc::new(AtomicBool::new(true));
    let build = db.collection("pets").create_index(r#"{"a": 1}"#).start().unwrap();
    build.stop_when(stop).run().unwrap_err();
    db.close().unwrap();
    let db = open(&env);
    db.finish_indexes().unwrap();
    let pets = db.collection("pets");
    assert!(pets.indexes().unwrap()[1].ready && pets.index_stats().unwrap()[0].build.is_none());
    assert_eq!(pets.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), DOCUMENTS as usize);
}

/// Builds an index, and stops the build once `documents` documents were processed. Returns the
/// number of processed documents.
fn build_some(db: &Database, (keys, options): (&str, &str), documents: u64) -> u64 {
    let stop = Arc::new(AtomicBool::new(false));
    let build = db.collection("pets").create_index(keys).options(options).stop_when(stop.clone()).start().unwrap();
    let progress = build.progress();
    std::thread::scope(|scope| {
        let built = scope.spawn(|| build.run());
        while progress.documents() < documents && !built.is_finished() {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
        if let Err(error) = built.join().unwrap() {
            assert!(matches!(error, Error::Stopped), "{error}");
        }
    });
    progress.documents()
}

#[test]
fn it_goes_on_within_a_partition() {
    goes_on_within_a_partition((r#"{"a": 1}"#, "{}"), DOCUMENTS as usize);
    // Indexes in which no document, or few documents, have entries.
    goes_on_within_a_partition((r#"{"b": 1}"#, r#"{"sparse": true}"#), 0);
    goes_on_within_a_partition((r#"{"a": 1}"#, r#"{"partialFilterExpression": {"a": {"$gt": 50}}}"#), 30);
}

fn goes_on_within_a_partition(index: (&str, &str), entries: usize) {
    let env = alluvium_env::Env::in_memory(1);
    let open = || {
        let tuning = alluvium_store::Tuning { gather_bytes: Some(1 << 10), ..alluvium_store::Tuning::default() };
        let options = alluvium_store::Options { tuning, ..alluvium_store::Options::default() };
        Database::builder().env(env.clone()).options(options).partitions(1).open(Path::new("db")).unwrap()
    };
    let db = open();
    for id in 0..DOCUMENTS {
        db.collection("pets").put(id, Map::from([("a", Value::from(id % 10))])).unwrap();
    }
    let first = build_some(&db, index, 500);
    db.close().unwrap();
    let db = open();
    let pets = db.collection("pets");
    // Write while the build is stopped: writes maintain the index up to the position of the build,
    // and the build reads the documents after this position.
    for id in (0..DOCUMENTS).step_by(100) {
        pets.put(id, Map::from([("a", Value::from(77))])).unwrap();
    }
    db.finish_indexes().unwrap();
    let second = pets.create_index(index.0).options(index.1).start().unwrap().progress().documents();
    // The second build processes at most the entries of one sorted run again.
    let all = DOCUMENTS as u64;
    assert!(first >= 500 && first + second >= all && first + second < all + 200, "{first}, {second} of {all}");
    let name = &pets.indexes().unwrap()[1].name;
    assert_eq!(pets.index_entries(&db.snapshot(), name, false).unwrap().len(), entries);
    assert_eq!(db.verify().run().unwrap().damage.len(), 0);
}

#[test]
fn whoever_waits_for_another_build_can_be_stopped() {
    let env = alluvium_env::Env::in_memory(1);
    let db = filled(&env);
    let pets = db.collection("pets");
    let stop = Arc::new(AtomicBool::new(false));
    let builders: Vec<_> = (0..4)
        .map(|_| {
            let build = pets.create_index(r#"{"a": 1}"#).stop_when(stop.clone()).start().unwrap();
            alluvium_env::thread::spawn("builder", move || build.run())
        })
        .collect();
    stop.store(true, Ordering::SeqCst);
    for builder in builders {
        match builder.join().unwrap() {
            Ok(_) | Err(Error::Stopped) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(pets.create_index(r#"{"a": 1}"#).run().unwrap(), "a_1");
    assert_eq!(pets.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), DOCUMENTS as usize);
}

#[test]
fn a_full_disk_stops_a_build_until_there_is_space() {
    let disk = Arc::new(alluvium_env::mem::MemFs::new());
    let clock = Arc::new(alluvium_env::ManualClock::new());
    let env = alluvium_env::Env { fs: disk.clone(), clock, rng: Arc::new(alluvium_env::SeededRng::new(1)) };
    let db = Database::builder().env(env.clone()).memory(8 << 20).disk_reserve(0).open("db").unwrap();
    let pets = db.collection("pets");
    let mut batch = db.write_batch();
    for id in 0..DOCUMENTS {
        batch.put(&pets, id, Map::from([("a", Value::from(format!("{id:x}").repeat(9)))])).unwrap();
    }
    batch.commit().unwrap();
    let build = pets.create_index(r#"{"a": 1}"#).start().unwrap();
    disk.set_capacity(disk.used_bytes());
    assert_eq!(build.run().unwrap_err().kind(), ErrorKind::NoSpace);
    assert!(!pets.indexes().unwrap()[1].ready);
    disk.set_capacity(u64::MAX);
    pets.create_index(r#"{"a": 1}"#).run().unwrap();
    assert_eq!(pets.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), DOCUMENTS as usize);
    assert_eq!(db.verify().run().unwrap().damage.len(), 0);
}

#[test]
fn a_build_goes_on_under_another_name() {
    let env = alluvium_env::Env::in_memory(1);
    let db = filled(&env);
    // The collection is renamed before the build continues, and again during the build.
    let stop = Arc::new(AtomicBool::new(true));
    let build = db.collection("pets").create_index(r#"{"a": 1}"#).start().unwrap();
    db.rename_collection("pets", "animals").unwrap();
    assert_eq!(build.run().unwrap(), "a_1");
    let animals = db.collection("animals");
    assert_eq!(animals.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), DOCUMENTS as usize);

    let build = animals.create_index(r#"{"a": -1}"#).start().unwrap();
    let progress = build.progress();
    std::thread::scope(|scope| {
        let built = scope.spawn(|| build.run());
        while progress.documents() < 10 {
            std::thread::yield_now();
        }
        db.rename_collection("animals", "zoo").unwrap();
        // Another collection now has the old name.
        db.create_collection("animals").run().unwrap();
        assert_eq!(built.join().unwrap().unwrap(), "a_-1");
    });
    let zoo = db.collection("zoo");
    assert_eq!(zoo.index_entries(&db.snapshot(), "a_-1", false).unwrap().len(), DOCUMENTS as usize);
    // A unique index over documents with equal keys is dropped, even if the collection was renamed.
    let build = zoo.create_index(r#"{"a": 1, "b": 1}"#).unique(true).start().unwrap();
    db.rename_collection("zoo", "pets").unwrap();
    assert_eq!(build.stop_when(stop.clone()).run().unwrap_err().kind(), ErrorKind::Stopped);
    stop.store(false, Ordering::SeqCst);
    assert_eq!(db.finish_indexes().unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(db.collection("pets").indexes().unwrap().len(), 3);
}

#[test]
fn a_build_leaves_the_disk_its_reserve() {
    const RESERVE: u64 = 1 << 20;
    let disk = Arc::new(alluvium_env::mem::MemFs::new());
    let clock = Arc::new(alluvium_env::ManualClock::new());
    let env = alluvium_env::Env { fs: disk.clone(), clock, rng: Arc::new(alluvium_env::SeededRng::new(1)) };
    let db = Database::builder().env(env.clone()).memory(8 << 20).disk_reserve(RESERVE).open("db").unwrap();
    let pets = db.collection("pets");
    for chunk in 0..10 {
        let mut batch = db.write_batch();
        for id in chunk * 1000..(chunk + 1) * 1000 {
            batch.put(&pets, id, Map::from([("a", Value::from(format!("{id:x}").repeat(30)))])).unwrap();
        }
        batch.commit().unwrap();
    }
    db.compact().run().unwrap();
    let build = pets.create_index(r#"{"a": 1}"#).start().unwrap();
    // The disk has space for the reserve and a part of the index.
    disk.set_capacity(disk.used_bytes() + RESERVE + (200 << 10));
    let error = build.run().unwrap_err();
    assert!(error.kind() == ErrorKind::NoSpace && error.to_string().contains("are kept"), "{error}");
    let free = env.fs.available_bytes(Path::new("db")).unwrap();
    assert!(free >= RESERVE, "{free} bytes are left of {RESERVE}");
    disk.set_capacity(u64::MAX);
    pets.create_index(r#"{"a": 1}"#).run().unwrap();
    assert_eq!(pets.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), 10_000);
}

#[test]
fn a_stopped_rebuild_continues_in_the_background() {
    let env = alluvium_env::Env::in_memory(1);
    let db = filled(&env);
    let pets = db.collection("pets");
    pets.create_index(r#"{"a": 1}"#).run().unwrap();
    let stopped = Arc::new(AtomicBool::new(true));
    let error = pets.rebuild_index_within("a_1", std::time::Duration::ZERO, stopped).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    let start = std::time::Instant::now();
    while !pets.indexes().unwrap()[1].ready {
        assert!(start.elapsed().as_secs() < 60, "the index is not ready");
        std::thread::yield_now();
    }
    assert_eq!(pets.index_entries(&db.snapshot(), "a_1", false).unwrap().len(), DOCUMENTS as usize);
    assert_eq!(db.verify().run().unwrap().damage.len(), 0);
}

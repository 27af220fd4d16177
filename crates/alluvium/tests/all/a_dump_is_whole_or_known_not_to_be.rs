//! A dump has all collections at one snapshot. A failure anywhere removes it, and a second attempt
//! succeeds.

use alluvium::dump;
use alluvium::{Database, Error};
use alluvium_env::fault::{Fault, FaultFs};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, OpenMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn open(env: &Env) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).open("db").unwrap()
}

fn insert(db: &Database, name: &str, ids: std::ops::Range<i32>) {
    let text = "some text ".repeat(100);
    db.collection(name).insert_many(ids.map(|n| format!(r#"{{"_id":{n},"text":"{text}"}}"#))).unwrap();
}

#[test]
fn all_collections_are_of_one_moment() {
    let env = Env::in_memory(1);
    let db = open(&env);
    insert(&db, "a", 0..1500);
    insert(&db, "b", 0..10);
    insert(&db, "d", 0..5);
    let mut changed = false;
    let change = |_, _| {
        if !std::mem::replace(&mut changed, true) {
            insert(&db, "a", 5000..5010);
            insert(&db, "b", 10..20);
            insert(&db, "c", 0..1);
            db.drop_collection("d").unwrap();
        }
    };
    let report = db.dump("dump").on_progress(change).run().unwrap();
    assert_eq!((report.collections, report.documents), (3, 1515));
    assert!(changed && report.bytes > 1_500_000);
    let other = Database::builder().env(env.clone()).memory(8 << 20).open("other").unwrap();
    let dump = dump::read("dump").env(env.clone()).run().unwrap();
    dump.restore(&other).run().unwrap();
    let names: Vec<String> = other.collections().iter().map(|info| info.full_name()).collect();
    assert_eq!(names, ["main.a", "main.b", "main.d"]);
    assert_eq!(other.collection("b").count().unwrap(), 10);
}

#[test]
fn a_failure_anywhere_leaves_nothing() {
    let mut failed = 0;
    for nth in 0.. {
        let mem = Arc::new(MemFs::new());
        let faults = Arc::new(FaultFs::over(mem.clone()));
        let plain = Env { fs: mem, ..Env::in_memory(1) };
        let env = Env { fs: faults.clone(), ..plain.clone() };
        let db = open(&env);
        insert(&db, "a", 0..3);
        db.collection("b").insert_one(r#"{"_id":{"$numberDecimal":"1E+9999"}}"#).unwrap();
        faults.inject(Fault::nth(nth).of_changes().on("dump"));
        let result = db.dump("dump").alluvium_types(true).run();
        if faults.fired() == 0 {
            assert_eq!(result.unwrap().documents, 4);
            break;
        }
        failed += 1;
        assert!(result.is_err(), "operation {nth}");
        assert!(!plain.fs.exists(Path::new("dump")).unwrap(), "operation {nth} failed, and something is left");
        assert_eq!(db.dump("dump").alluvium_types(true).run().unwrap().documents, 4, "operation {nth}");
        dump::read("dump").env(plain.clone()).run().unwrap();
    }
    assert!(failed > 15, "{failed}");
}

#[test]
fn what_cannot_be_removed_is_no_dump_and_the_next_one_removes_it() {
    let mut whole = 0;
    for nth in 0.. {
        let mem = Arc::new(MemFs::new());
        let faults = Arc::new(FaultFs::over(mem.clone()));
        let plain = Env { fs: mem, ..Env::in_memory(1) };
        let db = open(&Env { fs: faults.clone(), ..plain.clone() });
        insert(&db, "a", 0..3);
        insert(&db, "b", 0..3);
        faults.inject(Fault::nth(nth).of_changes().on("dump").from_then_on());
        let result = db.dump("dump").run();
        if faults.fired() == 0 {
            result.unwrap();
            break;
        }
        assert!(result.is_err(), "operation {nth}");
        faults.clear();
        let there = plain.fs.exists(Path::new("dump")).unwrap();
        if let Some(Ok(dump)) = there.then(|| dump::read("dump").env(plain.clone()).run()) {
            // The whole dump is written. The failure means that the removal of its mark,
            // `dump.incomplete`, may not be durable.
            let other = Database::builder().env(plain.clone()).memory(8 << 20).open("other").unwrap();
            let restored = dump.restore(&other).run().unwrap();
            assert_eq!(restored.collections.iter().map(|c| c.documents).sum::<u64>(), 6, "operation {nth}");
            whole += 1;
            continue;
        }
        assert_eq!(db.dump("dump").run().unwrap().documents, 6);
        dump::read("dump").env(plain.clone()).run().unwrap();
    }
    assert_eq!(whole, 1, "the last sync alone");
}

#[test]
fn a_directory_takes_one_dump_at_a_time() {
    let env = Env::in_memory(4);
    let (db, to) = (open(&env), Path::new("dump"));
    insert(&db, "a", 0..1500);
    let mut refused = None;
    let dump = db.dump(to).on_progress(|_, _| {
        refused.get_or_insert_with(|| db.dump(to).run().unwrap_err().to_string());
    });
    dump.run().unwrap();
    assert_eq!(refused.unwrap(), "another dump is being written into dump");
    assert_eq!(dump::read(to).env(env.clone()).run().unwrap().collections.len(), 1);
}

#[test]
fn a_full_disk_is_reported_as_such() {
    let mem = Arc::new(MemFs::new());
    let env = Env { fs: mem.clone(), ..Env::in_memory(1) };
    let db = Database::builder().env(env.clone()).memory(8 << 20).disk_reserve(0).open("db").unwrap();
    insert(&db, "a", 0..1500);
    mem.set_capacity(mem.used_bytes() + 500_000);
    let error = db.dump("dump").run().unwrap_err();
    assert_eq!(error.kind(), alluvium::ErrorKind::NoSpace, "{error}");
    assert!(!env.fs.exists(Path::new("dump")).unwrap());
    mem.set_capacity(mem.used_bytes() + 5_000_000);
    assert_eq!(db.dump("dump").run().unwrap().documents, 1500);
}

#[test]
fn what_is_there_is_not_written_over() {
    let env = Env::in_memory(3);
    let db = open(&env);
    insert(&db, "a", 0..3);
    let dump = |dir: &str, stop: bool| db.dump(dir).stop_when(Arc::new(AtomicBool::new(stop))).run();
    env.fs.create_dir_all(Path::new("mine")).unwrap();
    env.fs.open(Path::new("mine/file"), OpenMode::CreateNew).unwrap();
    assert!(dump("mine", false).unwrap_err().to_string().contains("is not empty"));
    assert_eq!(env.fs.list(Path::new("mine")).unwrap().len(), 1);
    env.fs.create_dir_all(Path::new("empty")).unwrap();
    dump("empty", false).unwrap();
    assert!(matches!(dump("stopped", true), Err(Error::Stopped)));
    assert!(!env.fs.exists(Path::new("stopped")).unwrap());
    // The remains of a killed dump of an earlier build of the library, which wrote an empty file as
    // the mark.
    env.fs.create_dir_all(Path::new("killed/main")).unwrap();
    for file in ["killed/dump.incomplete", "killed/main/gone.bson.part", "killed/main/a.metadata.json.gz"] {
        env.fs.open(Path::new(file), OpenMode::CreateNew).unwrap();
    }
    let error = dump::read("killed").env(env.clone()).run().unwrap_err().to_string();
    assert!(error.contains("killed was cut short"), "{error}");
    dump("killed", false).unwrap();
    assert_eq!(env.fs.list(Path::new("killed/main")).unwrap().len(), 2);
    // Other files are not removed.
    env.fs.open(Path::new("mine/dump.incomplete"), OpenMode::CreateNew).unwrap();
    let error = dump("mine", false).unwrap_err().to_string();
    assert!(error.contains("mine/file"), "{error}");
    assert_eq!(env.fs.list(Path::new("mine")).unwrap().len(), 2);
}

//! One moment of all collections; a failure anywhere leaves a directory that is not taken for a dump.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::dump::{Dump, DumpOptions, RestoreOptions};
use alluvium::{Database, Error};
use env::fault::{Fault, FaultFs};
use env::mem::MemFs;
use env::{Env, OpenMode};
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
    let report = db.dump(Path::new("dump"), &DumpOptions::default(), change).unwrap();
    assert_eq!((report.collections, report.documents), (3, 1515));
    assert!(changed && report.bytes > 1_500_000);
    let other = Database::builder().env(env.clone()).memory(8 << 20).open("other").unwrap();
    let dump = Dump::read(&env, Path::new("dump")).unwrap();
    dump.restore(&other, &RestoreOptions::default()).unwrap();
    let names: Vec<String> = other.collections().iter().map(|info| info.full_name()).collect();
    assert_eq!(names, ["main.a", "main.b", "main.d"]);
    assert_eq!(other.collection("b").count().unwrap(), 10);
}

#[test]
fn a_failure_anywhere_leaves_no_dump() {
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
        let options = DumpOptions { alluvium_types: true, ..DumpOptions::default() };
        let result = db.dump(Path::new("dump"), &options, |_, _| {});
        if faults.fired() == 0 {
            assert_eq!(result.unwrap().documents, 4);
            break;
        }
        failed += 1;
        // Of syncing the directory at the end the dump is whole, though nobody knows.
        let read = plain.fs.exists(Path::new("dump")).unwrap().then(|| Dump::read(&plain, Path::new("dump")));
        let last = !plain.fs.exists(Path::new("dump/incomplete")).unwrap();
        assert!(result.is_err(), "operation {nth}");
        assert!(last || !matches!(read, Some(Ok(_))), "operation {nth} failed, and the dump is taken for whole");
    }
    assert!(failed > 15, "{failed}");
}

#[test]
fn a_full_disk_is_told_as_such() {
    let mem = Arc::new(MemFs::new());
    let env = Env { fs: mem.clone(), ..Env::in_memory(1) };
    let db = Database::builder().env(env.clone()).memory(8 << 20).disk_reserve(0).open("db").unwrap();
    insert(&db, "a", 0..1500);
    mem.set_capacity(mem.used_bytes() + 500_000);
    let error = db.dump(Path::new("dump"), &DumpOptions::default(), |_, _| {}).unwrap_err();
    assert_eq!(error.kind(), alluvium::ErrorKind::NoSpace, "{error}");
}

#[test]
fn what_is_there_is_not_written_over() {
    let env = Env::in_memory(3);
    let db = open(&env);
    insert(&db, "a", 0..3);
    let dump = |dir: &str, stop: bool| {
        let options = DumpOptions { stop: Arc::new(AtomicBool::new(stop)), ..DumpOptions::default() };
        db.dump(Path::new(dir), &options, |_, _| {})
    };
    env.fs.create_dir_all(Path::new("mine")).unwrap();
    env.fs.open(Path::new("mine/file"), OpenMode::CreateNew).unwrap();
    assert!(dump("mine", false).unwrap_err().to_string().contains("is not empty"));
    assert_eq!(env.fs.list(Path::new("mine")).unwrap().len(), 1);
    env.fs.create_dir_all(Path::new("empty")).unwrap();
    dump("empty", false).unwrap();
    assert!(matches!(dump("stopped", true), Err(Error::Stopped)));
    assert!(dump("stopped", false).unwrap_err().to_string().contains("cut short"));
    let error = Dump::read(&env, Path::new("stopped")).unwrap_err().to_string();
    assert!(error.contains("stopped was cut short"), "{error}");
}

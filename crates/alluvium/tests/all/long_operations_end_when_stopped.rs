//! A count, a check, a compaction and a repair end on request, report that, and leave everything
//! undamaged.

use alluvium::repair;
use alluvium::{Database, ErrorKind};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::{Env, Fs};
use alluvium_store::Options;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn database(env: &Env) -> Database {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..Options::default() };
    let db = Database::builder().env(env.clone()).options(options).open("db").unwrap();
    for round in 0..3 {
        for n in 0..200 {
            db.collection("pets").put(n, format!(r#"{{"round": {round}, "n": {n}}}"#)).unwrap();
        }
        db.flush().unwrap();
    }
    db
}

fn files(db: &Database) -> usize {
    db.stats().partitions.iter().map(|partition| partition.files).sum()
}

#[test]
fn before_it_has_done_anything() {
    let db = database(&Env::in_memory(5));
    let (stop, before) = (Arc::new(AtomicBool::new(true)), files(&db));
    let pets = db.collection("pets");
    assert_eq!(pets.find("{}").stop_when(stop.clone()).count().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(db.verify().stop_when(stop.clone()).run().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(db.compact().stop_when(stop).run().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(files(&db), before);
    // The request to stop is withdrawn.
    let stop = Arc::new(AtomicBool::new(false));
    assert_eq!(pets.find("{}").stop_when(stop.clone()).count().unwrap(), 200);
    db.compact().stop_when(stop.clone()).run().unwrap();
    assert!(files(&db) < before, "{} files of {before}", files(&db));
    assert!(db.verify().stop_when(stop).run().unwrap().damage.is_empty());
}

#[test]
fn a_repair_before_it_has_read_any_sorted_file() {
    let env = Env::in_memory(8);
    database(&env).close().unwrap();
    let disk = Arc::new(FaultFs::new(env.fs.clone()));
    disk.inject(Fault::nth(1).of(OpKind::Open).on(".sst").from_then_on());
    let watched = Env { fs: disk.clone(), ..env };
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = repair::repair("db", "new").env(watched).stop_when(stop).run().unwrap_err();
    assert_eq!((stopped.kind(), disk.fired()), (ErrorKind::Stopped, 0), "sorted files were opened");
    assert!(!disk.exists(Path::new("new")).unwrap() && !disk.exists(Path::new("new.incomplete")).unwrap());
}

#[test]
fn in_the_midst_of_it() {
    let db = database(&Env::in_memory(6));
    let (stop, pets) = (Arc::new(AtomicBool::new(false)), db.collection("pets"));
    alluvium_env::thread::scope(|threads| {
        threads.spawn(|| stop.store(true, Ordering::Relaxed));
        // Repeat the operations until the other thread has run.
        let is_done = || {
            db.verify().stop_when(stop.clone()).run().is_ok()
                && pets.find("{}").stop_when(stop.clone()).count().is_ok()
                && db.compact().stop_when(stop.clone()).run().is_ok()
        };
        while is_done() {
            pets.put(1000, "{}").unwrap();
        }
    });
    assert!(db.verify().run().unwrap().damage.is_empty());
    assert!(pets.count().unwrap() >= 200);
}

#[test]
fn a_compaction_without_a_stop_removes_stale_entries() {
    let db = database(&Env::in_memory(7));
    let pets = db.collection("pets");
    pets.create_index(r#"{"age": 1}"#).run().unwrap();
    for age in 0..3 {
        pets.put("rex", format!(r#"{{"age": {age}}}"#)).unwrap();
    }
    db.flush().unwrap();
    let entries = || pets.index_stats().unwrap()[0].entries;
    let before = entries();
    assert_eq!(db.compact().stop_when(Arc::new(AtomicBool::new(true))).run().unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(entries(), before);
    db.compact().run().unwrap();
    assert_eq!((before - entries(), entries()), (2, pets.count().unwrap()));
}

//! Each operation on the file system fails once, in turn, while a partition flushes and compacts.
//! After any failure reads work and reopening recovers. If the failed edit may be durable, the
//! partition is poisoned, and no file is removed. Any other failure changes nothing, and the work
//! succeeds when it is tried again.

use crate::common::{Db, env_over, key, tiny_options};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use std::sync::Arc;

struct Bench {
    db: Db,
    mem: Arc<MemFs>,
    faults: Arc<FaultFs>,
}

/// A partition with data in the base and above, and a sealed memtable.
fn prepare() -> Bench {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let mut db = Db::open(env_over(faults.clone()), tiny_options(), 0).unwrap();
    for round in 0..4u32 {
        for i in 0..60u32 {
            db.put(&key(&format!("{:03}", i * 3 + round)), &[round as u8; 50]);
        }
        if round == 1 {
            db.flush();
            db.partition.compact_all().unwrap();
        } else if round < 3 {
            db.flush();
        }
    }
    db.rotate();
    Bench { db, mem, faults }
}

/// The work during which operations fail.
fn work(db: &Db) -> alluvium_env::Result<()> {
    db.partition.flush_oldest()?;
    db.partition.compact_all()
}

fn one_failure(fault: Fault, what: &str) -> bool {
    let Bench { db, mem, faults } = prepare();
    let before = db.sst_names();
    faults.inject(fault);
    let result = work(&db);
    let fired = faults.fired() > 0;
    faults.clear();
    db.check();
    if let Some(poison) = db.partition.poisoned() {
        assert!(result.is_err(), "{what}");
        let names = db.sst_names();
        assert!(before.iter().all(|name| names.contains(name)), "{what}: a file went after {poison}");
        assert!(work(&db).is_err(), "{what}: work went on after {poison}");
        assert!(db.partition.pick_compaction().is_none(), "{what}");
        db.check();
    } else {
        // Nothing has changed, or the failure did not matter because only a file could not be
        // removed.
        work(&db).unwrap_or_else(|e| panic!("{what}: not even the second time: {e}"));
        db.check();
        assert_eq!(db.partition.stats().runs, 1, "{what}");
        // A file that could not be removed, or whose creation reported a failure, may be left over.
        let left = db.sst_names().len() - db.partition.stats().files;
        assert!(left <= 1, "{what}: {left} files were left");
    }
    let Db { partition, model, options, .. } = db;
    let flushed = partition.flushed_seq();
    drop(partition);
    for disk in [mem.kill_clone(), mem.crash_clone(5, alluvium_env::mem::CrashStyle::AllLost)] {
        let mut again =
            Db::open(env_over(Arc::new(disk)), options.clone(), 0).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(again.partition.flushed_seq() >= flushed, "{what}");
        again.model = model.clone();
        again.model.cut(again.partition.flushed_seq());
        again.check();
        assert_eq!(again.sst_names().len(), again.partition.stats().files, "{what}: files were left");
    }
    fired
}

#[test]
fn any_operation_that_changes_something() {
    for n in 1.. {
        if !one_failure(Fault::nth(n).of_changes(), &format!("change {n}")) {
            assert!(n > 15, "{n}");
            return;
        }
    }
}

#[test]
fn any_operation_that_is_done_and_says_it_failed() {
    for n in 1.. {
        if !one_failure(Fault::nth(n).of_changes().though_done(), &format!("done change {n}")) {
            assert!(n > 15);
            return;
        }
    }
}

#[test]
fn a_failed_sync_that_loses_its_pages() {
    for n in 1.. {
        if !one_failure(Fault::nth(n).of(OpKind::Sync).losing_pages(), &format!("sync {n}")) {
            assert!(n > 3);
            return;
        }
    }
}

#[test]
fn a_failed_read() {
    for n in 1.. {
        if !one_failure(Fault::nth(n).of(OpKind::Read), &format!("read {n}")) {
            return;
        }
    }
}

#[test]
fn a_disk_that_is_full_for_a_while() {
    for kind in [OpKind::Create, OpKind::Allocate] {
        let Bench { db, faults, .. } = prepare();
        let before = db.sst_names();
        faults.inject(Fault::nth(1).of(kind).no_space().from_then_on());
        for _ in 0..3 {
            // The manifest may still have reserved space: then only files can fail.
            if let Err(error) = db.partition.flush_oldest() {
                assert!(error.is_no_space(), "{error}");
                assert_eq!(db.sst_names(), before, "partial output is removed");
            }
            assert!(db.partition.poisoned().is_none());
            db.check();
        }
        faults.clear();
        db.flush();
        db.compact();
        db.check();
    }
}

#[test]
fn a_policy_that_cannot_sync_the_log_keeps_the_memtable() {
    let Bench { db, .. } = prepare();
    let before = (db.sst_names(), db.partition.flushed_seq());
    let refused = alluvium_env::Error::corrupt(std::path::Path::new("/wal"), 0, "test");
    *db.policy.refuse_edit.lock() = Some(refused);
    assert!(db.partition.flush_oldest().is_err());
    assert_eq!((db.sst_names(), db.partition.flushed_seq()), before);
    assert_eq!(db.partition.view().immutable_count(), 1);
    *db.policy.refuse_edit.lock() = None;
    assert!(db.partition.flush_oldest().unwrap());
    assert!(db.policy.synced.load(std::sync::atomic::Ordering::SeqCst) >= db.partition.flushed_seq());
    db.check();
}

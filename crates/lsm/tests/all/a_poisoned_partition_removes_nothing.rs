//! An edit whose sync failed may be durable or not. From then on the partition can be read, writes
//! no further edit and removes no file, so that the next open finds everything it needs in either
//! case.

use crate::common::{Db, env_over, key, tiny_options};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use std::ops::Bound;
use std::sync::Arc;

fn fill(db: &mut Db, round: u8) {
    for i in 0..100u32 {
        db.put(&key(&format!("{i:04}")), &[round; 64]);
    }
}

fn new() -> (Db, Arc<MemFs>, Arc<FaultFs>) {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let mut db = Db::open(env_over(faults.clone()), tiny_options(), 0).unwrap();
    fill(&mut db, 1);
    db.flush();
    (db, mem, faults)
}

/// Opens the disks that power cuts and the death of the process may leave, and checks their
/// contents.
fn check_disks(db: &Db, mem: &MemFs) {
    let mut disks: Vec<MemFs> = (0..20).map(|seed| mem.crash_clone(seed, CrashStyle::Any)).collect();
    disks.extend([mem.kill_clone(), mem.crash_clone(0, CrashStyle::AllLost), mem.crash_clone(0, CrashStyle::AllKept)]);
    for disk in disks {
        let mut again = Db::open(env_over(Arc::new(disk)), tiny_options(), 0).unwrap();
        again.model = db.model.clone();
        again.model.cut(again.partition.flushed_seq());
        again.check();
    }
}

fn manifest_fault(kind: OpKind) -> Fault {
    Fault::nth(1).of(kind).on("MANIFEST")
}

#[test]
fn a_flush_whose_edit_is_in_doubt_keeps_its_files() {
    for fault in [
        manifest_fault(OpKind::Sync),
        manifest_fault(OpKind::Sync).though_done(),
        manifest_fault(OpKind::Sync).losing_pages(),
        manifest_fault(OpKind::Write),
        manifest_fault(OpKind::Write).short(20),
        manifest_fault(OpKind::Write).though_done(),
    ] {
        let (mut db, mem, faults) = new();
        fill(&mut db, 2);
        db.rotate();
        let before = db.sst_names().len();
        faults.inject(fault.clone());
        assert!(db.partition.flush_oldest().is_err());
        assert_eq!(faults.fired(), 1);
        assert!(db.partition.poisoned().is_some(), "{fault:?}");
        assert!(db.sst_names().len() > before, "its files stay: {fault:?}");
        check_disks(&db, &mem);
        db.check();
        assert!(db.partition.flush_oldest().is_err());
        assert!(db.partition.compact_all().is_err());
        assert!(db.partition.remove_left_overs().is_err());
        check_disks(&db, &mem);
    }
}

#[test]
fn a_compaction_whose_edit_is_in_doubt_keeps_inputs_and_outputs() {
    let (mut db, mem, faults) = new();
    fill(&mut db, 2);
    db.flush();
    let inputs = db.sst_names();
    faults.inject(manifest_fault(OpKind::Sync).though_done());
    assert!(db.partition.compact_all().is_err());
    assert!(db.partition.poisoned().is_some());
    let left = db.sst_names();
    assert!(inputs.iter().all(|name| left.contains(name)) && left.len() > inputs.len());
    check_disks(&db, &mem);
    db.check();
}

#[test]
fn files_that_readers_let_go_of_later_stay_too() {
    let (mut db, mem, faults) = new();
    let mut iter = db.partition.iter(db.partition.view(), db.seq, Bound::Unbounded, Bound::Unbounded);
    iter.seek_first().unwrap();
    fill(&mut db, 2);
    db.flush();
    db.partition.compact_all().unwrap();
    assert!(db.partition.stats().files_held > 0);
    let names = db.sst_names();
    fill(&mut db, 3);
    db.rotate();
    faults.inject(manifest_fault(OpKind::Sync));
    assert!(db.partition.flush_oldest().is_err());
    drop(iter);
    db.partition.remove_released_files();
    assert!(names.iter().all(|name| db.sst_names().contains(name)));
    check_disks(&db, &mem);
}

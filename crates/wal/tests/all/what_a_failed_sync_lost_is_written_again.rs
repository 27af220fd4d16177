//! A sync fails, but the system still marks the pages or the directory as clean, and the process
//! ends. The next process reads the records from the system's memory. After its recovery, the
//! records are on the disk, too.
#![cfg(not(feature = "shuttle"))]

use crate::common::{Owned, append, new_disk, options, over, recover};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_wal::Wal;
use std::sync::Arc;

const BYTES: u64 = 16 << 10;

fn record(first: u64) -> Owned {
    Owned { first, last: first, payload: vec![first as u8; 1000] }
}

/// Writes until a sync fails, and then ends. Another process recovers and continues. Then the power
/// is cut.
fn survives(until_it_fails: impl Fn(&Wal, &FaultFs) -> u64) {
    let (mem, faults, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let written = until_it_fails(&wal, &faults);
    assert_eq!(faults.fired(), 1);
    drop(wal);
    let (mem, _, env) = over(Arc::new(mem.kill_clone()));
    let (wal, recovery, found) = recover(&env, options(BYTES)).unwrap();
    assert_eq!((recovery.last_seq, found.len() as u64), (written, written));
    let cut = |mem: &MemFs| over(Arc::new(mem.crash_clone(1, CrashStyle::AllLost))).2;
    let (_, _, again) = recover(&cut(&mem), options(BYTES)).unwrap();
    assert!(again == found, "what was recovered was not durable");
    append(&wal, &[record(written + 1)]).unwrap();
    wal.sync().unwrap();
    let (_, recovery, _) = recover(&cut(&mem), options(BYTES)).unwrap();
    assert_eq!(recovery.last_seq, written + 1);
}

#[test]
fn groups_behind_synced_ones() {
    survives(|wal, faults| {
        append(wal, &[record(1)]).unwrap();
        wal.sync().unwrap();
        append(wal, &[record(2), record(3)]).unwrap();
        append(wal, &[record(4)]).unwrap();
        faults.inject(Fault::nth(1).of(OpKind::Sync).losing_pages());
        wal.sync().unwrap_err();
        4
    });
}

#[test]
fn the_first_groups() {
    survives(|wal, faults| {
        append(wal, &[record(1)]).unwrap();
        faults.inject(Fault::nth(1).of(OpKind::Sync).losing_pages());
        wal.sync().unwrap_err();
        1
    });
}

#[test]
fn the_header_of_a_new_segment() {
    survives(|wal, faults| {
        append(wal, &[record(1)]).unwrap();
        wal.sync().unwrap();
        faults.inject(Fault::nth(1).of(OpKind::Sync).losing_pages());
        wal.start_segment().unwrap_err();
        1
    });
}

#[test]
fn the_name_of_a_new_segment() {
    survives(|wal, faults| {
        append(wal, &[record(1)]).unwrap();
        wal.sync().unwrap();
        faults.inject(Fault::nth(1).of(OpKind::SyncDir).losing_pages());
        wal.start_segment().unwrap_err();
        1
    });
}

//! An error on an existing segment poisons the log. An error while a new segment is made changes
//! nothing, and the log can be used again when there is space.
#![cfg(not(feature = "shuttle"))]

use crate::common::{Owned, append, dir, new_disk, options, over, recover, seed};
use alluvium_env::Error;
use alluvium_env::fault::{Fault, OpKind};
use alluvium_env::mem::CrashStyle;
use alluvium_wal::Wal;
use std::sync::Arc;

const BYTES: u64 = 16 << 10;

fn record(first: u64) -> Owned {
    Owned { first, last: first, payload: vec![first as u8; 1000] }
}

/// Appends records until a new segment is needed for the next.
fn fill(wal: &Wal, from: u64) -> u64 {
    let mut next = from;
    while wal.end().offset + 1100 < BYTES {
        append(wal, &[record(next)]).unwrap();
        next += 1;
    }
    next
}

fn same(a: &Error, b: &Error) -> bool {
    a.to_string() == b.to_string()
}

#[test]
fn a_failed_write_poisons() {
    for short in [0, 10, 60, 5000] {
        let (_, faults, env) = new_disk();
        let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
        append(&wal, &[record(1)]).unwrap();
        faults.inject(Fault::nth(1).of(OpKind::Write).no_space().short(short));
        let error = append(&wal, &[record(2)]).unwrap_err();
        check_poisoned(&wal, &error, 2);
        assert_eq!(faults.fired(), 1);
        drop(wal);
        let (_, recovery, found) = recover(&env, options(BYTES)).unwrap();
        assert!(found == [record(1), record(2)][..found.len()] && !found.is_empty());
        assert_eq!(recovery.dropped.is_some(), short == 10 || short == 60);
    }
}

fn check_poisoned(wal: &Wal, error: &Error, next: u64) {
    assert!(same(&wal.poisoned().unwrap(), error));
    assert!(same(&append(wal, &[record(next)]).unwrap_err(), error));
    assert!(same(&wal.sync().unwrap_err(), error));
    assert!(same(&wal.release_below(1).unwrap_err(), error));
    assert!(same(&wal.close().unwrap_err(), error));
    if wal.synced() < wal.end() {
        assert!(same(&wal.sync_to(wal.end()).unwrap_err(), error));
    }
    wal.sync_to(wal.synced()).unwrap();
}

#[test]
fn a_failed_sync_poisons_and_is_not_retried() {
    let (mem, faults, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    append(&wal, &[record(1)]).unwrap();
    let durable = wal.sync().unwrap();
    append(&wal, &[record(2)]).unwrap();
    faults.inject(Fault::nth(1).of(OpKind::Sync).losing_pages());
    let error = wal.sync().unwrap_err();
    let syncs = faults.count(OpKind::Sync);
    check_poisoned(&wal, &error, 3);
    assert_eq!((faults.count(OpKind::Sync), faults.fired()), (syncs, 1));
    assert_eq!(wal.synced(), durable);
    let (_, _, env) = over(Arc::new(mem.crash_clone(1, CrashStyle::AllKept)));
    let (_, _, found) = recover(&env, options(BYTES)).unwrap();
    assert!(found == [record(1)]);
}

#[test]
fn a_failed_sync_at_the_end_of_a_segment_poisons() {
    let (_, faults, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let next = fill(&wal, 1);
    faults.inject(Fault::nth(1).of(OpKind::Sync));
    let error = append(&wal, &[record(next)]).unwrap_err();
    check_poisoned(&wal, &error, next);
    assert_eq!(wal.end().segment, 1);
}

#[test]
fn a_new_segment_whose_name_may_not_be_durable_poisons() {
    // The failure concerns the segment's length, its header, or its name.
    for (nth, kind) in [(1, OpKind::Sync), (2, OpKind::Sync), (1, OpKind::SyncDir)] {
        let (_, faults, env) = new_disk();
        let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
        let next = fill(&wal, 1);
        wal.sync().unwrap();
        faults.inject(Fault::nth(nth).of(kind));
        let error = append(&wal, &[record(next)]).unwrap_err();
        check_poisoned(&wal, &error, next);
    }
}

#[test]
fn no_space_for_a_new_segment_changes_nothing() {
    for kind in [OpKind::Create, OpKind::Allocate, OpKind::Write] {
        let (_, faults, env) = new_disk();
        let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
        let next = fill(&wal, 1);
        let end = wal.end();
        for round in 1..4 {
            faults.inject(Fault::nth(1).of(kind).no_space());
            assert!(append(&wal, &[record(next)]).unwrap_err().is_no_space());
            assert_eq!((faults.fired(), wal.end(), wal.poisoned().is_none()), (round, end, true));
        }
        // A group that fits is accepted, and so is the other group when there is space again.
        let small = Owned { first: next, last: next, payload: vec![] };
        append(&wal, std::slice::from_ref(&small)).unwrap();
        append(&wal, &[record(next + 1)]).unwrap();
        assert_eq!(wal.end().segment, 2);
        drop(wal);
        let (_, _, found) = recover(&env, options(BYTES)).unwrap();
        assert!(found.len() as u64 == next + 1 && found[next as usize - 1] == small);
    }
}

#[test]
fn what_a_failed_attempt_leaves_is_in_nobodys_way() {
    for reopen in [false, true] {
        let (_, faults, env) = new_disk();
        let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
        let next = fill(&wal, 1);
        faults.inject(Fault::nth(1).of(OpKind::Allocate).no_space().though_done());
        faults.inject(Fault::nth(1).of(OpKind::Remove));
        assert!(append(&wal, &[record(next)]).unwrap_err().is_no_space());
        assert_eq!((faults.fired(), env.fs.list(&dir()).unwrap().len()), (2, 2));
        let wal = if reopen { recover(&env, options(BYTES)).unwrap().0 } else { wal };
        append(&wal, &[record(next)]).unwrap();
        assert_eq!(wal.end().segment, 2);
        drop(wal);
        assert_eq!(recover(&env, options(BYTES)).unwrap().2.len() as u64, next);
    }
}

#[test]
fn a_disk_that_is_full_and_then_is_not() {
    let (mem, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let next = fill(&wal, 1);
    mem.set_capacity(mem.used_bytes() + BYTES / 2);
    assert!(append(&wal, &[record(next)]).unwrap_err().is_no_space());
    assert!(wal.sync().is_ok() && wal.poisoned().is_none());
    mem.set_capacity(u64::MAX);
    append(&wal, &[record(next)]).unwrap();
    wal.close().unwrap();
    assert_eq!(recover(&env, options(BYTES)).unwrap().2.len() as u64, next);
}

#[test]
fn a_header_that_can_be_neither_written_nor_taken_back_poisons() {
    let (_, faults, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let next = fill(&wal, 1);
    faults.inject(Fault::nth(1).of(OpKind::Write).no_space().though_done());
    faults.inject(Fault::nth(1).of(OpKind::Remove));
    let error = append(&wal, &[record(next)]).unwrap_err();
    check_poisoned(&wal, &error, next);
}

#[test]
fn a_segment_that_cannot_be_removed_stays() {
    let (_, faults, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let next = fill(&wal, 1);
    append(&wal, &[record(next)]).unwrap();
    faults.inject(Fault::nth(1).of(OpKind::Remove));
    assert!(wal.release_below(next).is_err());
    assert!(wal.poisoned().is_none() && wal.oldest_seq() == 1);
    assert!(wal.release_below(next).unwrap() > 0 && wal.oldest_seq() == next);
}

/// For a single failure at any operation of a short history: the operation may return an error, and
/// everything that was confirmed exists afterwards, even after a power cut.
#[test]
fn any_operation_may_fail() {
    let seed = seed();
    let (mut at, mut struck) = (0, true);
    while struck {
        at += 1;
        struck = [false, true].into_iter().any(|though_done| fail_at(at, though_done, seed));
    }
    assert!(at > 40, "{at}");
}

fn fail_at(at: u64, though_done: bool, seed: u64) -> bool {
    let (mem, faults, env) = new_disk();
    let fault = Fault::nth(at).of_changes();
    faults.inject(if though_done { fault.though_done() } else { fault });
    let mut durable = 0;
    for _ in 0..2 {
        let Ok((wal, recovery, _)) = recover(&env, options(BYTES)) else { continue };
        assert!(recovery.last_seq >= durable);
        let mut next = recovery.last_seq + 1;
        durable = recovery.last_seq;
        for _ in 0..10 {
            if append(&wal, &[record(next)]).is_ok() {
                next += 1;
            }
            if next % 3 == 0 && wal.sync().is_ok() {
                durable = next - 1;
            }
        }
        let _ = wal.release_below(durable / 2);
        if wal.close().is_ok() {
            durable = next - 1;
        }
    }
    for (style, seed) in [(CrashStyle::AllLost, 0), (CrashStyle::AllKept, 0), (CrashStyle::Any, seed)] {
        let (_, _, env) = over(Arc::new(mem.crash_clone(seed, style)));
        let (_, recovery, found) = recover(&env, options(BYTES)).unwrap();
        assert!(recovery.last_seq >= durable, "fault {at}: {} of {durable}", recovery.last_seq);
        assert!(found.iter().all(|r| *r == record(r.first)));
    }
    faults.fired() == 1
}

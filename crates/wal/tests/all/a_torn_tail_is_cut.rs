//! A last group that is incomplete in any way is cut off, reported, and never replayed later.
#![cfg(not(feature = "shuttle"))]

use crate::common::{Owned, append, disk_with, files, groups, new_disk, options, recover, segment};
use alluvium_env::Env;

fn record(first: u64, len: usize) -> Owned {
    Owned { first, last: first + 1, payload: (0..len).map(|at| (at * 7 + first as usize) as u8 | 1).collect() }
}

/// A segment with three groups, none of them synced.
fn three_groups() -> (Vec<u8>, Vec<Owned>) {
    let (mem, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(16 << 10)).unwrap();
    let records = vec![record(1, 30), record(3, 0), record(5, 201)];
    for record in &records {
        append(&wal, std::slice::from_ref(record)).unwrap();
    }
    (files(&*mem).remove(0).1, records)
}

/// Recovers a log whose third group is incomplete, appends to it, and recovers again.
fn check(bytes: Vec<u8>, records: &[Owned], at: usize) {
    let left = bytes.iter().rposition(|&b| b != 0).unwrap() + 1;
    let env = disk_with(&[(segment(1), bytes)]);
    let (wal, recovery, found) = recover(&env, options(16 << 10)).unwrap();
    assert!(found == records[..2]);
    assert_eq!((recovery.last_seq, recovery.clean), (4, false));
    let dropped = recovery.dropped.map(|d| (d.path, d.offset, d.bytes));
    assert_eq!(dropped, (left > at).then(|| (segment(1), at as u64, (left - at) as u64)));
    let other = Owned { payload: vec![0xee; 50], ..record(5, 0) };
    append(&wal, std::slice::from_ref(&other)).unwrap();
    drop(wal);
    again(&env, &[&records[..2], &[other]].concat());
}

fn again(env: &Env, records: &[Owned]) {
    let (_, recovery, found) = recover(env, options(16 << 10)).unwrap();
    assert!(found == records && recovery.dropped.is_none());
}

#[test]
fn cut_at_every_byte() {
    let (bytes, records) = three_groups();
    let (at, len) = groups(&bytes)[2];
    for cut in at..at + len {
        check(bytes[..cut].to_vec(), &records, at);
    }
}

#[test]
fn zeros_from_every_byte_on() {
    let (bytes, records) = three_groups();
    let (at, len) = groups(&bytes)[2];
    // The group ends with padding, which may be lost without harm.
    let end = bytes[..at + len].iter().rposition(|&b| b != 0).unwrap() + 1;
    for cut in at..end {
        let mut bytes = bytes.clone();
        bytes[cut..].fill(0);
        check(bytes, &records, at);
    }
}

#[test]
fn zeros_up_to_every_byte() {
    let (bytes, records) = three_groups();
    let (at, len) = groups(&bytes)[2];
    for cut in at + 1..at + len {
        let mut bytes = bytes.clone();
        bytes[at..cut].fill(0);
        check(bytes, &records, at);
    }
}

#[test]
fn any_byte_changed() {
    let (bytes, records) = three_groups();
    let (at, len) = groups(&bytes)[2];
    for byte in at..at + len {
        let mut bytes = bytes.clone();
        bytes[byte] ^= 0xff;
        check(bytes, &records, at);
    }
}

//! For each flipped bit of a small log: there is no panic, no record is returned that was not
//! written, and nothing that was provably durable is silently lost.
#![cfg(not(feature = "shuttle"))]

use crate::common::{GROUPS_AT, Owned, append, disk_with, files, groups, new_disk, options, recover, skipping};
use alluvium_env::Error;
use std::path::PathBuf;

fn record(first: u64, len: usize) -> Owned {
    Owned { first, last: first + first % 2, payload: (0..len).map(|at| (at * 11 + first as usize) as u8).collect() }
}

/// Two segments. In the second one, the log was synced after the seventh record.
struct Log {
    files: Vec<(PathBuf, Vec<u8>)>,
    records: Vec<Owned>,
}

fn log(close: bool) -> Log {
    let (mem, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(GROUPS_AT + 600)).unwrap();
    let mut records: Vec<Owned> = Vec::new();
    for len in [100, 0, 250, 40, 60, 3, 90, 50, 20] {
        records.push(record(records.last().map_or(1, |r| r.last + 1), len));
        append(&wal, &records[records.len() - 1..]).unwrap();
        if records.len() == 7 {
            wal.sync().unwrap();
        }
    }
    assert_eq!(wal.end().segment, 2);
    if close {
        wal.close().unwrap();
    }
    Log { files: files(&*mem), records }
}

/// Calls `f` with the log after each flip that matters: of each page, every bit up to shortly after
/// the last byte that is not zero, and one bit in 64 elsewhere.
fn flip_all(log: &Log, mut f: impl FnMut(usize, usize, &[(PathBuf, Vec<u8>)])) {
    let mut files = log.files.clone();
    for file in 0..files.len() {
        for byte in 0..files[file].1.len() {
            let near = byte < 192 || (4096..4192).contains(&byte) || byte >= GROUPS_AT as usize;
            for bit in 0..8 {
                if near || (byte % 8 == 0 && bit == byte / 8 % 8) {
                    files[file].1[byte] ^= 1 << bit;
                    f(file, byte, &files);
                    files[file].1[byte] ^= 1 << bit;
                }
            }
        }
    }
}

#[test]
fn of_a_closed_log_everything_or_an_error() {
    let log = log(true);
    let (mut whole, mut refused) = (0, 0);
    flip_all(&log, |file, byte, files| match recover(&disk_with(files), options(16 << 10)) {
        Ok((_, _, found)) => {
            assert!(found == log.records, "file {file} byte {byte}");
            whole += 1;
        }
        Err(Error::Corrupt { path, offset, .. }) => {
            assert!(path == files[file].0 && offset <= byte as u64);
            refused += 1;
        }
        Err(Error::NewerFormat { .. }) => panic!("a flipped version has a wrong checksum"),
        Err(other) => panic!("{other}"),
    });
    assert!(whole > 1000 && refused > 5000, "{whole} {refused}");
}

#[test]
fn of_an_open_log_only_what_nothing_proves_durable() {
    let log = log(false);
    let durable = GROUPS_AT as usize + groups(&log.files[1].1)[..3].iter().map(|g| g.1).sum::<usize>();
    let mut dropped = 0;
    flip_all(&log, |file, byte, files| match recover(&disk_with(files), options(16 << 10)) {
        Ok((_, recovery, found)) => {
            assert!(log.records.starts_with(&found));
            if found.len() < log.records.len() {
                assert!(file == 1 && byte >= durable, "file {file} byte {byte}");
                assert!(recovery.dropped.is_some());
                dropped += 1;
            }
        }
        Err(Error::Corrupt { path, .. }) => assert!(path == files[file].0),
        Err(other) => panic!("{other}"),
    });
    assert!(dropped > 500, "{dropped}");
}

#[test]
fn skipping_finds_all_other_records_and_names_the_lost() {
    let log = log(true);
    flip_all(&log, |file, byte, files| {
        let (_, recovery, found) = recover(&disk_with(files), skipping(16 << 10)).unwrap();
        assert!(found.iter().all(|record| log.records.contains(record)));
        assert!(found.len() + 1 >= log.records.len(), "file {file} byte {byte}: one group at most");
        let lost: u64 = recovery.lost.iter().map(|lost| lost.last - lost.first + 1).sum();
        let there: u64 = found.iter().map(|record| record.last - record.first + 1).sum();
        assert_eq!(lost + there, recovery.last_seq, "file {file} byte {byte}: {:?}", recovery.lost);
        assert_eq!(recovery.last_seq, log.records.last().unwrap().last);
    });
}

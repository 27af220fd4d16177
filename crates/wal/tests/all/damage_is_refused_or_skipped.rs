//! Damage to durable data is refused with its location, or skipped and the lost numbers are
//! reported.
#![cfg(not(feature = "shuttle"))]

use crate::common::{
    GROUPS_AT, Owned, append, dir, disk_with, files, groups, new_disk, options, recover, segment, skipping,
};
use alluvium_env::{Env, Error};
use alluvium_wal::{Lost, Options, Record, Wal};

const BYTES: u64 = 12 << 10;

/// Segments full of records of three numbers and 500 bytes each, in groups of one.
fn segments(count: u64, after: impl FnOnce(&Wal)) -> (Vec<(std::path::PathBuf, Vec<u8>)>, Vec<Owned>) {
    let (mem, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let mut records = Vec::new();
    while wal.end().segment < count || wal.end().offset < BYTES - 1200 {
        let first = records.len() as u64 * 3 + 1;
        records.push(Owned { first, last: first + 2, payload: vec![first as u8 | 1; 500] });
        append(&wal, &records[records.len() - 1..]).unwrap();
    }
    after(&wal);
    (files(&*mem), records)
}

fn corrupt(env: &Env) -> (std::path::PathBuf, u64, String) {
    match recover(env, options(BYTES)) {
        Err(Error::Corrupt { path, offset, what }) => (path, offset, what),
        Err(other) => panic!("{other}"),
        Ok((_, recovery, _)) => panic!("{recovery:?}"),
    }
}

fn skip(env: &Env) -> (Vec<Lost>, Vec<Owned>) {
    let (_, recovery, found) = recover(env, skipping(BYTES)).unwrap();
    (recovery.lost, found)
}

#[test]
fn a_group_within_a_closed_segment() {
    let (mut files, mut records) = segments(3, |_| ());
    let at = groups(&files[1].1)[2].0;
    files[1].1[at + 100] ^= 1;
    let (path, offset, what) = corrupt(&disk_with(&files));
    assert_eq!((path, offset), (segment(2), at as u64));
    assert!(what.contains("checksum"), "{what}");

    let per_segment = groups(&files[0].1).len();
    let (lost, found) = skip(&disk_with(&files));
    let gone = records.remove(per_segment + 2);
    assert_eq!(lost, [Lost { first: gone.first, last: gone.last }]);
    assert!(found == records);
}

#[test]
fn the_end_of_a_closed_segment() {
    let (mut files, mut records) = segments(2, |_| ());
    let all = groups(&files[0].1);
    let (at, _) = all[all.len() - 2];
    files[0].1.truncate(at + 20);
    assert_eq!(corrupt(&disk_with(&files)).1, at as u64);
    let (lost, found) = skip(&disk_with(&files));
    let gone: Vec<_> = records.drain(all.len() - 2..all.len()).collect();
    assert_eq!(lost, [Lost { first: gone[0].first, last: gone[1].last }]);
    assert!(found == records);
}

/// A segment: two groups, a sync, two groups.
fn synced_in_the_middle() -> (Vec<u8>, Vec<Owned>) {
    let (mem, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    let mut records = Vec::new();
    for first in 1..5 {
        records.push(Owned { first, last: first, payload: vec![first as u8; 100] });
        append(&wal, &records[records.len() - 1..]).unwrap();
        if first == 2 {
            wal.sync().unwrap();
        }
    }
    (files(&*mem).remove(0).1, records)
}

#[test]
fn a_durable_group_in_the_last_segment() {
    let (bytes, mut records) = synced_in_the_middle();
    let all = groups(&bytes);
    for zeroed in [false, true] {
        let mut bytes = bytes.clone();
        let (at, len) = all[1];
        bytes[at + 60] ^= 1;
        if zeroed {
            bytes[at..at + len].fill(0);
        }
        // The body of the last group is torn, but its header suffices.
        let (last, len) = all[3];
        bytes[last + 48..last + len].fill(0);
        bytes[all[2].0..all[2].0 + 8].fill(0);
        let env = disk_with(&[(segment(1), bytes)]);
        assert_eq!(corrupt(&env).1, at as u64);
    }
    let mut bytes = bytes.clone();
    bytes[all[1].0 + 60] ^= 1;
    let (lost, found) = skip(&disk_with(&[(segment(1), bytes)]));
    assert_eq!(lost, [Lost { first: 2, last: 2 }]);
    records.remove(1);
    assert!(found == records);
}

#[test]
fn a_group_after_the_last_sync_is_a_torn_tail() {
    let (mut bytes, records) = synced_in_the_middle();
    let all = groups(&bytes);
    bytes[all[2].0 + 60] ^= 1;
    let (_, recovery, found) = recover(&disk_with(&[(segment(1), bytes.clone())]), options(BYTES)).unwrap();
    assert!(found == records[..2] && recovery.last_seq == 2);
    // The complete group after it was never acknowledged either, so it is dropped, too, even when
    // damage is skipped.
    assert_eq!(recovery.dropped.unwrap().offset, all[2].0 as u64);
    let (lost, found) = skip(&disk_with(&[(segment(1), bytes)]));
    assert!(found == records[..2] && lost.is_empty());
}

#[test]
fn a_missing_segment() {
    let (mut files, mut records) = segments(4, |_| ());
    files.remove(1);
    let env = disk_with(&files);
    let (path, _, what) = corrupt(&env);
    assert_eq!((path, what.as_str()), (segment(2), "the segment is missing"));
    let per_segment = groups(&files[0].1).len();
    let gone: Vec<_> = records.drain(per_segment..2 * per_segment).collect();
    let (lost, found) = skip(&env);
    assert_eq!(lost, [Lost { first: gone[0].first, last: gone[per_segment - 1].last }]);
    assert!(found == records);
}

#[test]
fn a_missing_oldest_segment_shows_in_the_first_number() {
    let (mut files, records) = segments(3, |_| ());
    files.remove(0);
    let (_, recovery, found) = recover(&disk_with(&files), options(BYTES)).unwrap();
    assert!(recovery.first_seq > 1 && found[0].first == recovery.first_seq);
    assert!(found == records[records.len() - found.len()..]);
}

#[test]
fn a_damaged_header() {
    let (files, records) = segments(3, |_| ());
    for (at, name) in [(0, 1), (1, 2), (2, 3)] {
        let mut files = files.clone();
        files[at].1[33] ^= 1;
        let env = disk_with(&files);
        let (path, offset, what) = corrupt(&env);
        assert_eq!((path, offset), (segment(name), 0));
        assert!(what.contains("header"));
        let (lost, found) = skip(&env);
        assert!(found == records && lost.is_empty(), "groups are checked without it");
    }
}

#[test]
fn segments_in_each_others_place() {
    let (mut files, _) = segments(3, |_| ());
    let bytes = files[1].1.clone();
    files[1].1 = std::mem::replace(&mut files[0].1, bytes);
    assert!(corrupt(&disk_with(&files)).2.contains("header"));
}

#[test]
fn the_missing_tail_of_a_closed_log() {
    let (mut files, records) = segments(1, |wal| wal.close().unwrap());
    let whole = files[0].1.clone();
    let all = groups(&whole);
    let (at, len) = all[all.len() - 1];
    for cut in [at, at + 1, at + 48, at + len - 1] {
        files[0].1 = whole[..cut].to_vec();
        assert_eq!(corrupt(&disk_with(&files)).1, at as u64);
        let (lost, found) = skip(&disk_with(&files));
        assert!(found == records[..records.len() - 1] && lost.len() == 1);
    }
}

#[test]
fn another_databases_log() {
    let (files, _) = segments(1, |_| ());
    let other = Options { segment_bytes: BYTES, ..Options::new(7) };
    for on_damage in [alluvium_wal::OnDamage::Refuse, alluvium_wal::OnDamage::Skip] {
        let error = recover(&disk_with(&files), Options { on_damage, ..other.clone() }).err().unwrap().to_string();
        assert!(error.contains("belongs to the database"), "{error}");
    }
}

#[test]
fn a_newer_format() {
    let (mut files, _) = segments(1, |_| ());
    let header = &mut files[0].1;
    header[8..12].copy_from_slice(&3u32.to_le_bytes());
    let sum = alluvium_codec::checksum64(&header[..120], 1);
    header[120..128].copy_from_slice(&sum.to_le_bytes());
    match recover(&disk_with(&files), skipping(BYTES)) {
        Err(Error::NewerFormat { found: 3, supported: 2, path }) => assert_eq!(path, segment(1)),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn what_an_unfinished_creation_left_is_removed() {
    let (files, records) = segments(2, |wal| drop(wal.sync()));
    let mut torn = vec![0; BYTES as usize];
    torn[..128].copy_from_slice(&files[1].1[..128]);
    torn[100..128].fill(0);
    for left_over in [vec![], vec![0; 100], vec![0; BYTES as usize], torn] {
        let mut files = files.clone();
        files.push((segment(3), left_over));
        let env = disk_with(&files);
        let (wal, _, found) = recover(&env, options(BYTES)).unwrap();
        assert!(found == records && wal.end().segment == 3);
        assert_eq!(env.fs.list(&dir()).unwrap().len(), 3);
    }
    // A segment is not removed if anything was written after its header.
    let mut files = files.clone();
    let mut bytes = vec![0; BYTES as usize];
    bytes[GROUPS_AT as usize + 9] = 1;
    files.push((segment(3), bytes));
    assert_eq!(corrupt(&disk_with(&files)).0, segment(3));
}

#[test]
fn a_lost_last_segment_is_noticed() {
    for closed in [false, true] {
        let (files, records) = segments(3, |wal| {
            if closed {
                wal.close().unwrap()
            }
        });
        let (last, bytes) = files.last().cloned().unwrap();
        let in_last = groups(&bytes).len();
        assert!((1..records.len()).contains(&in_last));
        let zeros = vec![0; bytes.len()];
        let cuts = [0, 100, 128, 4096, 4100, GROUPS_AT as usize - 1].map(|len| bytes[..len].to_vec());
        for left in cuts.into_iter().map(Some).chain([None, Some(zeros)]) {
            let mut files = files[..files.len() - 1].to_vec();
            let what = format!("closed {closed}, {:?} bytes are left", left.as_ref().map(Vec::len));
            files.extend(left.map(|left| (last.clone(), left)));
            assert_eq!(corrupt(&disk_with(&files)).0, last, "{what}");
            let (_, recovery, found) = recover(&disk_with(&files), skipping(BYTES)).unwrap();
            assert!(recovery.damaged && recovery.end_missing && !recovery.clean, "{what}");
            assert!(found == records[..records.len() - in_last], "{what}");
        }
    }
}

#[test]
fn other_files_are_left_alone() {
    let (mut files, _) = segments(1, |_| ());
    let names = ["wal-1.log", "wal-00000000000000000009.log.tmp", "LOCK", "wal-+0000000000000000009.log"];
    files.extend(names.map(|name| (dir().join(name), vec![1, 2, 3])));
    let env = disk_with(&files);
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    assert_eq!((wal.end().segment, env.fs.list(&dir()).unwrap().len()), (2, 6));
}

#[test]
fn a_segment_with_the_highest_number() {
    let (mut files, _) = segments(1, |_| ());
    let (mut path, mut header) = (segment(u64::MAX), files.remove(0).1);
    header[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    let sum = alluvium_codec::checksum64(&header[..120], u64::MAX);
    header[120..128].copy_from_slice(&sum.to_le_bytes());
    header[GROUPS_AT as usize..].fill(0);
    let env = disk_with(&[(std::mem::take(&mut path), header)]);
    assert_eq!(corrupt(&env).0, segment(u64::MAX));
}

/// The checksum is right, so these bytes were written as they are: this is no torn tail, even at the end of the log.
#[test]
fn a_group_that_cannot_be_decompressed() {
    for groups_after in [0, 1] {
        let (mem, _, env) = new_disk();
        let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
        let record = |n: u64| Owned { first: n, last: n, payload: vec![n as u8; 500] };
        append(&wal, &[record(1)]).unwrap();
        let at = wal.end().offset;
        // The first record of the group is whole. It is not replayed either.
        let (second, third) = (record(2), record(3));
        let broken = Record { compressed: Some(b"no frame"), ..third.record() };
        wal.append(&[second.record(), broken]).unwrap();
        let mut whole = vec![record(1)];
        for n in 4..4 + groups_after {
            append(&wal, &[record(n)]).unwrap();
            whole.push(record(n));
        }
        let env = disk_with(&files(&*mem));
        let (path, offset, what) = corrupt(&env);
        assert_eq!((path, offset), (segment(1), at));
        assert!(what.contains("does not consist of records"), "{what}");
        let (lost, found) = skip(&env);
        assert_eq!(lost, [Lost { first: 2, last: 3 }]);
        assert!(found == whole, "{found:?}");
    }
}

//! A new segment leaves the reserve free: growth is refused, deletes leave half of the reserve, and
//! upkeep leaves none of it. Segments that use the reserve are small, and take no growth.
#![cfg(not(feature = "shuttle"))]

use crate::common::{Owned, dir, new_disk, options, recover};
use alluvium_env::fault::{Fault, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_wal::{Options, Position, Purpose, Wal};

const BYTES: u64 = 1 << 20;
const RESERVE: u64 = 4 << 20;
const SMALL: u64 = 64 << 10;

fn with_reserve() -> Options {
    Options { reserve_bytes: RESERVE, ..options(BYTES) }
}

fn append(wal: &Wal, purpose: Purpose, number: u64, len: usize) -> alluvium_env::Result<Position> {
    let record = Owned { first: number, last: number, payload: vec![1; len] };
    wal.append_for(purpose, &[record.record()])
}

/// Fills the disk until this many bytes are free.
fn leave(disk: &MemFs, bytes: u64) {
    disk.set_capacity(disk.used_bytes() + bytes);
}

#[test]
fn each_purpose_leaves_its_part() {
    for (purpose, kept) in [(Purpose::Growth, RESERVE), (Purpose::Removal, RESERVE / 2), (Purpose::Upkeep, 0)] {
        let (disk, faults, env) = new_disk();
        let (wal, _, _) = recover(&env, with_reserve()).unwrap();
        append(&wal, Purpose::Growth, 1, 1_000_000).unwrap();
        assert!(!wal.is_short());
        let end = wal.end();
        let needed = if purpose == Purpose::Growth { BYTES } else { SMALL };
        let (synced, made) = (faults.count(OpKind::Sync), faults.count(OpKind::Create));
        if kept > 0 {
            leave(&disk, kept + needed - 4096);
            let error = append(&wal, purpose, 2, 50_000).unwrap_err();
            assert!(error.is_no_space() && error.to_string().contains("disk_reserve_bytes"), "{error}");
            assert!(wal.is_short() && wal.poisoned().is_none() && wal.end() == end);
            assert_eq!((faults.count(OpKind::Sync), faults.count(OpKind::Create)), (synced, made), "it costs nothing");
            // A group that fits into the current segment is accepted.
            append(&wal, purpose, 2, 10).unwrap();
        } else {
            append(&wal, purpose, 2, 10).unwrap();
        }
        leave(&disk, kept + needed);
        append(&wal, purpose, 3, 50_000).unwrap();
        assert_eq!(wal.end().segment, 2);
        assert_eq!(wal.is_short(), purpose != Purpose::Growth);
        let free = env.fs.available_bytes(&dir()).unwrap();
        assert!(free >= kept, "{purpose:?} leaves {free}");
        drop(wal);
        assert_eq!(recover(&env, with_reserve()).unwrap().2.len(), 3);
    }
}

#[test]
fn a_small_segment_takes_no_growth_until_there_is_space() {
    let (disk, _, env) = new_disk();
    let (wal, _, _) = recover(&env, with_reserve()).unwrap();
    append(&wal, Purpose::Growth, 1, 1000).unwrap();
    leave(&disk, RESERVE);
    wal.start_segment().unwrap();
    assert!(wal.is_short() && wal.release_below(2).unwrap() > 0);
    assert_eq!(wal.bytes_on_disk(), SMALL);
    leave(&disk, RESERVE);
    assert!(append(&wal, Purpose::Growth, 2, 10).unwrap_err().is_no_space());
    append(&wal, Purpose::Removal, 2, 10).unwrap();
    append(&wal, Purpose::Upkeep, 3, 10).unwrap();
    leave(&disk, RESERVE + BYTES);
    append(&wal, Purpose::Growth, 4, 10).unwrap();
    append(&wal, Purpose::Growth, 5, 60_000).unwrap();
    assert_eq!((wal.bytes_on_disk() > BYTES, wal.is_short(), wal.end().segment), (true, false, 3));
}

#[test]
fn opening_needs_little_space() {
    let (disk, _, env) = new_disk();
    let (wal, _, _) = recover(&env, with_reserve()).unwrap();
    append(&wal, Purpose::Growth, 1, 1000).unwrap();
    drop(wal);
    for free in [SMALL, 3 * 4096] {
        leave(&disk, free);
        let (wal, _, found) = recover(&env, with_reserve()).unwrap();
        assert!(wal.is_short() && found.len() == 1);
        append(&wal, Purpose::Growth, 2, 10).unwrap_err();
        drop(wal);
    }
    // Without a reserve in the options, recovery and growth succeed.
    leave(&disk, SMALL);
    let (wal, _, _) = recover(&env, options(BYTES)).unwrap();
    append(&wal, Purpose::Growth, 2, 10).unwrap();
}

#[test]
fn where_the_free_space_is_not_known_the_segment_is_made() {
    let (_, faults, env) = new_disk();
    faults.inject(Fault::nth(1).of(OpKind::Space).from_then_on());
    let (wal, _, _) = recover(&env, with_reserve()).unwrap();
    append(&wal, Purpose::Growth, 1, 1_000_000).unwrap();
    append(&wal, Purpose::Growth, 2, 1_000_000).unwrap();
    assert!(faults.fired() > 1 && !wal.is_short());
}

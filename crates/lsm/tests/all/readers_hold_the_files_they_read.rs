//! A file is removed soon after an edit has dropped it and the last reader has released it, and not
//! before. The block cache never returns a block of another file.

use crate::common::{Db, key, tiny_options};
use std::collections::HashSet;
use std::ops::Bound;

fn fill(db: &mut Db, round: u8) {
    for i in 0..200u32 {
        db.put(&key(&format!("{i:04}")), &[round; 64]);
    }
    db.flush();
}

#[test]
fn an_iterator_reads_on_while_its_files_are_compacted_away() {
    let mut db = Db::new(tiny_options());
    fill(&mut db, 1);
    let snapshot = db.snapshot();
    let mut iter = db.partition.iter(db.partition.view(), snapshot, Bound::Unbounded, Bound::Unbounded);
    iter.seek_first().unwrap();
    let held = db.sst_names();
    db.end_snapshot(snapshot);
    fill(&mut db, 2);
    db.partition.compact_all().unwrap();
    assert!(held.iter().all(|name| db.sst_names().contains(name)));
    assert_eq!(db.partition.stats().files_held, held.len());
    let mut count = 0;
    while iter.valid() {
        assert_eq!(iter.value(), [1; 64]);
        iter.next().unwrap();
        count += 1;
    }
    assert_eq!(count, 200);
    drop(iter);
    db.partition.remove_released_files();
    assert_eq!(db.sst_names().len(), db.partition.stats().files);
    assert_eq!(db.partition.stats().files_held, 0);
}

#[test]
fn file_numbers_are_never_used_again_so_no_cached_block_is_stale() {
    let mut db = Db::new(tiny_options());
    let mut seen = HashSet::new();
    for round in 0..12u8 {
        fill(&mut db, round);
        // Fills the cache with blocks of new files at the same offsets.
        db.check();
        db.partition.compact_all().unwrap();
        db.check();
        let numbers: Vec<u64> = db.partition.files().iter().map(|file| file.meta.number).collect();
        assert!(numbers.iter().all(|number| seen.insert(*number)), "{numbers:?}");
        assert!(db.partition.stats().cache_hits > 0);
        if round % 4 == 3 {
            db = db.reopen();
        }
    }
}

#[test]
fn a_job_that_is_dropped_or_stopped_gives_its_files_back() {
    let mut db = Db::new(tiny_options());
    for round in 0..8 {
        fill(&mut db, round);
    }
    let names = db.sst_names();
    let job = db.partition.pick_compaction().unwrap();
    let again = db.partition.pick_compaction();
    assert!(again.is_none_or(|other| format!("{other:?}") != format!("{job:?}")), "its files are taken");
    drop(job);
    let job = db.partition.pick_compaction().unwrap();
    assert!(job.bytes() > 0);
    assert_eq!(db.partition.run_compaction(job, &|| true).unwrap(), alluvium_lsm::Outcome::Yielded);
    assert_eq!(db.sst_names(), names);
    db.compact();
    db.check();
}

#[test]
fn a_long_compaction_lets_its_partition_flush() {
    let mut db = Db::new(tiny_options());
    for round in 0..8 {
        fill(&mut db, round);
    }
    for i in 0..50u32 {
        db.put(&key(&format!("{i:04}")), b"newest");
    }
    db.rotate();
    let job = db.partition.pick_compaction().unwrap();
    let partition = db.partition.clone();
    let flush = || {
        partition.flush_oldest().unwrap();
        false
    };
    assert_eq!(db.partition.run_compaction(job, &flush).unwrap(), alluvium_lsm::Outcome::Done);
    assert_eq!(db.partition.view().immutable_count(), 0, "the flush ran within the compaction");
    db.check();
    db.compact();
    db.check();
}

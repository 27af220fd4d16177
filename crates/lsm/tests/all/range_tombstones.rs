//! Range tombstones: their cost for a scan, the release of space, and the time for which they are
//! kept.

use crate::common;
use crate::common::{Db, key, tiny_options, tree_key};
use std::ops::Bound;

const KEYS: u32 = 2000;

fn number(tree: u32, n: u32) -> Vec<u8> {
    tree_key(tree, &format!("key{n:06}"))
}

/// A partition with keys in order, all in the base.
fn loaded(tree: u32) -> Db {
    let mut options = tiny_options();
    options.writer.compression = alluvium_sst::Compression::None;
    let mut db = Db::new(options);
    for n in 0..KEYS {
        db.put(&number(tree, n), &[n as u8; 40]);
        if n % 250 == 249 {
            db.flush();
        }
    }
    db.flush();
    db.compact();
    assert!(db.partition.stats().files > 10, "{}", db.partition.stats().files);
    db
}

/// Finds three neighbouring large files. Returns the number of the first key of the file that is
/// `behind` files after the first of them.
fn first_of_a_file(db: &Db, behind: usize) -> u32 {
    let files = db.partition.files();
    let at = files.windows(3).position(|three| three.iter().all(|file| file.meta.entries > 50)).unwrap();
    let text = String::from_utf8(files[at + behind].meta.smallest[4..].to_vec()).unwrap();
    text.trim_start_matches("key").parse().unwrap()
}

/// The keys that a scan finds, and the blocks that it reads.
fn scan(db: &Db, back: bool) -> (usize, u64) {
    let before = db.partition.stats();
    let found = if back { db.scan_back(db.seq) } else { db.scan(db.seq) };
    let after = db.partition.stats();
    let blocks = |stats: &alluvium_lsm::Stats| stats.cache_misses + stats.cache_hits;
    (found.len(), blocks(&after) - blocks(&before))
}

#[test]
fn a_scan_reads_a_few_blocks_before_and_after_the_files_go() {
    let mut db = loaded(1);
    db.delete_range(&number(1, 3), &number(1, KEYS - 3));
    for back in [false, true] {
        let (found, blocks) = scan(&db, back);
        assert!(found == 6 && blocks <= 8, "in memory: {found} keys, {blocks} blocks");
    }
    db.flush();
    for back in [false, true] {
        let (found, blocks) = scan(&db, back);
        assert!(found == 6 && blocks <= 8, "in the version: {found} keys, {blocks} blocks");
    }
    let before = db.partition.stats();
    assert!(db.compact_once(), "the files go");
    let after = db.partition.stats();
    assert_eq!(after.files, 2, "those at both ends are left");
    assert_eq!(
        (after.compactions, after.bytes_read_by_compactions),
        (before.compactions, before.bytes_read_by_compactions)
    );
    db.compact();
    for back in [false, true] {
        let (found, blocks) = scan(&db, back);
        assert!(found == 6 && blocks <= 8, "after settling: {found} keys, {blocks} blocks");
    }
    assert_eq!(db.partition.stats().ranges, 0, "the ends were rewritten, so the range is done with");
    db.check();
}

#[test]
fn what_a_snapshot_sees_stays_until_it_ends() {
    let mut db = loaded(1);
    let snapshot = db.snapshot();
    db.delete_range(&key("key"), &key("kez"));
    db.flush();
    db.compact();
    db.partition.compact_all().unwrap();
    db.check();
    assert_eq!(db.partition.stats().ranges, 1);
    let files = db.partition.stats().files;
    assert!(files > 10);
    db.end_snapshot(snapshot);
    db.compact();
    assert_eq!((db.partition.stats().files, db.partition.stats().ranges), (0, 0));
    assert!(db.sst_names().is_empty());
    db.check();
}

#[test]
fn a_key_that_is_put_again_is_not_taken_for_an_older_one() {
    // Tree 3 needs no numbers, so the number of an entry that all snapshots see is not kept.
    let mut db = loaded(3);
    // A small part of the files at both ends is deleted. This is too little for a rewrite of these
    // files, so the range stays.
    let (start, end) = (first_of_a_file(&db, 1) - 3, first_of_a_file(&db, 2) + 3);
    let middle = first_of_a_file(&db, 1);
    db.delete_range(&number(3, start), &number(3, end));
    db.flush();
    db.compact();
    assert_eq!(db.partition.stats().ranges, 1, "this test needs a range that stays");
    db.put(&number(3, middle), b"again");
    db.flush();
    assert_eq!(db.partition.stats().ranges, 1);
    db.check();
    for n in [start, middle, end - 1] {
        db.put(&number(3, n), b"again");
    }
    db.flush();
    db.compact();
    db.check();
    let mut db = db.reopen();
    db.check();
    db.put(&number(3, middle), b"and again");
    db.flush();
    db.partition.compact_all().unwrap();
    assert_eq!(db.partition.stats().ranges, 0);
    db.check();
}

#[test]
fn a_range_is_cut_to_the_files_that_it_is_needed_for() {
    let mut db = loaded(1);
    let end = first_of_a_file(&db, 1) + 3;
    db.delete_range(&key(""), &number(1, end));
    db.flush();
    db.compact();
    assert_eq!(db.partition.stats().ranges, 1);
    // Keys before the remaining file are no longer covered, because no older entries of them can
    // exist.
    let view = db.partition.view();
    assert_eq!(view.find(&number(1, 5), db.seq, &mut Vec::new()).unwrap(), None);
    assert!(view.find(&number(1, end - 1), db.seq, &mut Vec::new()).unwrap().is_some());
}

#[test]
fn what_a_newer_range_cuts_off_is_forgotten_too() {
    let mut db = Db::new(tiny_options());
    // A range will cover too little of this file for a rewrite.
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 12] {
        db.put(&number(1, n), b"x");
    }
    db.flush();
    db.put(&number(1, 80), b"x");
    let first = db.snapshot();
    db.delete_range(&number(1, 12), &number(1, 90));
    db.put(&number(1, 81), b"x");
    db.flush();
    db.end_snapshot(first);
    let second = db.snapshot();
    db.delete_range(&number(1, 12), &number(1, 90));
    db.flush();
    assert_eq!(db.partition.stats().ranges, 1, "both files need both");
    while db.compact_once() {}
    assert_eq!(db.partition.stats().ranges, 2, "the file with 81 needs the newer one only");
    // This range begins between the files.
    db.delete_range(&number(1, 50), &number(1, 90));
    db.flush();
    assert_eq!(db.partition.stats().ranges, 2, "nothing is kept from 13 to 50");
    db.end_snapshot(second);
    db.partition.compact_all().unwrap();
    assert_eq!(db.partition.stats().ranges, 0);
    db.check();
}

#[test]
fn ranges_of_a_dropped_tree_go_with_it() {
    let mut db = loaded(1);
    db.put(&tree_key(2, "a"), b"stays");
    db.delete_range(&number(1, 100), &number(1, 110));
    db.flush();
    assert_eq!(db.partition.stats().ranges, 1);
    db.policy.dead.lock().insert(1);
    db.delete_range(&number(1, 200), &number(1, 210));
    db.drop_trees(&[1]).unwrap();
    assert_eq!(db.partition.stats().ranges, 0);
    db.flush();
    assert_eq!(db.partition.stats().ranges, 0, "nor does a flush bring one back");
    db.model.drop_tree(1);
    db.check();
}

#[test]
fn estimates_leave_out_what_is_covered() {
    let mut db = loaded(1);
    let estimate = |db: &Db| {
        let view = db.partition.view();
        view.estimate(&key(""), &tree_key(2, "")).unwrap()
    };
    let all = estimate(&db);
    assert!((1900..=2100).contains(&all), "{all}");
    db.delete_range(&number(1, 500), &number(1, 1500));
    let half = estimate(&db);
    assert!((900..=1100).contains(&half), "{half}");
    db.flush();
    let half = estimate(&db);
    assert!((900..=1100).contains(&half), "{half}");
}

#[test]
fn many_small_ranges_do_not_fill_the_memory() {
    let mut db = loaded(1);
    // Each file has too few deleted keys for a rewrite of its own.
    for n in (0..KEYS).step_by(10) {
        db.delete_range(&number(1, n), &number(1, n + 1));
    }
    db.flush();
    db.compact();
    let stats = db.partition.stats();
    assert!(stats.ranges > 100, "{}", stats.ranges);
    let Db { env, model, partition, seq, mut options, .. } = db;
    options.max_range_bytes = stats.range_bytes / 4;
    drop(partition);
    let mut db = Db::open(env, options, seq).unwrap();
    db.model = model;
    db.check();
    db.compact();
    let left = db.partition.stats().range_bytes;
    assert!(left <= stats.range_bytes / 4, "{left} of {}", stats.range_bytes);
    db.check();
    // All bounds of a walk may be within ranges.
    let (low, high) = (number(1, 10), number(1, 21));
    let mut iter = db.partition.iter(db.partition.view(), db.seq, Bound::Included(&low), Bound::Excluded(&high));
    iter.seek_first().unwrap();
    assert_eq!(iter.key(), number(1, 11));
    iter.seek_last().unwrap();
    assert_eq!(iter.key(), number(1, 19));
}

#[test]
fn a_closed_partition_forgets_no_ranges() {
    let mut db = loaded(2);
    db.delete_range(&number(2, 100), &number(2, 110));
    db.flush();
    assert_eq!(db.partition.stats().ranges, 1);
    // The tree is dropped after the partition was closed, when another process may use the
    // directory.
    let again = db.partition.clone();
    again.close();
    let sizes = |db: &Db| db.env.fs.list(std::path::Path::new(common::DIR)).unwrap();
    let before: Vec<_> = sizes(&db).into_iter().map(|entry| (entry.name, entry.len)).collect();
    let error = again.forget_dead(&[2]).unwrap_err().to_string();
    assert!(error.contains("closed"), "{error}");
    let after: Vec<_> = sizes(&db).into_iter().map(|entry| (entry.name, entry.len)).collect();
    assert_eq!(after, before);
    drop(again);
    let db = db.reopen();
    assert_eq!(db.partition.stats().ranges, 1, "the manifest still has it");
    db.drop_trees(&[2]).unwrap();
    assert_eq!(db.partition.stats().ranges, 0);
}

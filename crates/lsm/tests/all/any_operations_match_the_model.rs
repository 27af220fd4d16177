//! Random writes, flushes, compactions, snapshots, dropped trees and reopenings: every read, at
//! every live snapshot and in both directions, returns what a plain map returns.

use crate::common::{Db, tiny_options, tree_key};
use proptest::prelude::*;
use std::ops::Bound;
use std::sync::atomic::Ordering;

#[derive(Debug, Clone)]
enum Op {
    Put(u16, u8),
    Delete(u16),
    /// All keys from one to below another, which may belong to another tree or be less than the
    /// first.
    DeleteRange(u16, u16),
    /// A delta, which may be impossible to apply.
    Delta(u16, u8),
    /// Turns folding by flushes and compactions off, or on again.
    NoFold(bool),
    /// Keys in order, as a load writes them.
    Ascending(u8),
    Rotate,
    Flush,
    Compact,
    CompactAll,
    Snapshot,
    EndSnapshot(prop::sample::Index),
    Reopen,
    /// A walk in these directions, from a key, within bounds.
    Walk(u16, u16, u16, Vec<bool>),
    Check,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let walk = (0..300u16, 0..300u16, 0..300u16, prop::collection::vec(any::<bool>(), 1..25));
    let one = prop_oneof![
        40 => (0..300u16, any::<u8>()).prop_map(|(key, fill)| Op::Put(key, fill)),
        12 => (0..300u16).prop_map(Op::Delete),
        3 => (0..300u16, 0..300u16).prop_map(|(from, to)| Op::DeleteRange(from, to)),
        4 => (0..300u16, 1..12u16).prop_map(|(from, count)| Op::DeleteRange(from, from + count)),
        30 => (0..300u16, any::<u8>()).prop_map(|(key, fill)| Op::Delta(key, fill)),
        15 => (0..12u16, any::<u8>()).prop_map(|(key, fill)| Op::Delta(key, fill)),
        1 => any::<bool>().prop_map(Op::NoFold),
        6 => (1..60u8).prop_map(Op::Ascending),
        4 => Just(Op::Rotate),
        8 => Just(Op::Flush),
        8 => Just(Op::Compact),
        1 => Just(Op::CompactAll),
        3 => Just(Op::Snapshot),
        2 => any::<prop::sample::Index>().prop_map(Op::EndSnapshot),
        1 => Just(Op::Reopen),
        6 => walk.prop_map(|(from, low, high, turns)| Op::Walk(from, low, high, turns)),
        1 => Just(Op::Check),
    ];
    prop::collection::vec(one, 1..400)
}

fn key(number: u16) -> Vec<u8> {
    // There are three trees, and one of them is large.
    let tree = [1, 1, 1, 2, 3][usize::from(number) % 5];
    tree_key(tree, &format!("key{number:05}"))
}

fn walk(db: &Db, from: u16, bounds: (u16, u16), turns: &[bool]) {
    let (low, high) = (key(bounds.0.min(bounds.1)), key(bounds.0.max(bounds.1)));
    let (low, high) = if low <= high { (low, high) } else { (high, low) };
    let all: Vec<_> = db.model.scan(db.seq).into_iter().filter(|(k, _)| *k >= low && *k < high).collect();
    let view = db.partition.view();
    let mut iter = db.partition.iter(view, db.seq, Bound::Included(&low), Bound::Excluded(&high));
    let start = key(from);
    let forward = turns[0];
    let mut at = if forward {
        iter.seek(&start).unwrap();
        Some(all.partition_point(|(k, _)| *k < start)).filter(|at| *at < all.len())
    } else {
        iter.seek_before(&start).unwrap();
        all.partition_point(|(k, _)| *k < start).checked_sub(1)
    };
    for &forward in turns {
        assert_eq!(iter.valid(), at.is_some(), "walk from {start:?} {turns:?}");
        let Some(index) = at else { return };
        assert_eq!((iter.key(), iter.value()), (all[index].0.as_slice(), all[index].1.as_slice()));
        at = if forward {
            iter.next().unwrap();
            Some(index + 1).filter(|at| *at < all.len())
        } else {
            iter.prev().unwrap();
            index.checked_sub(1)
        };
    }
}

fn run(ops: Vec<Op>) {
    let mut options = tiny_options();
    options.writer.compression = alluvium_sst::Compression::None;
    options.upper_floor_bytes = 2 << 10;
    let mut db = Db::new(options);
    let (mut next, mut no_fold) = (0u32, false);
    for op in ops {
        // Folding is only turned off while files are written; reads can always fold.
        let moves_files = matches!(op, Op::Flush | Op::Compact | Op::CompactAll);
        db.policy.no_fold.store(no_fold && moves_files, Ordering::SeqCst);
        match op {
            Op::Put(k, fill) => db.put(&key(k), &vec![fill; usize::from(fill) / 2]),
            Op::Delete(k) => db.delete(&key(k)),
            Op::DeleteRange(from, to) => db.delete_range(&key(from), &key(to)),
            Op::Delta(k, fill) => db.delta(&key(k), &[fill, k as u8, 3]),
            Op::NoFold(off) => no_fold = off,
            Op::Ascending(count) => {
                for _ in 0..count {
                    next += 1;
                    db.put(&tree_key(4, &format!("{next:08}")), &next.to_le_bytes().repeat(6));
                }
            }
            Op::Rotate => drop(db.rotate()),
            Op::Flush => drop(db.partition.flush_oldest().unwrap()),
            Op::Compact => drop(db.compact_once()),
            Op::CompactAll => db.partition.compact_all().unwrap(),
            Op::Snapshot => drop(db.snapshot()),
            Op::EndSnapshot(which) => {
                let snapshots = db.policy.snapshots.lock().clone();
                if !snapshots.is_empty() {
                    db.end_snapshot(snapshots[which.index(snapshots.len())]);
                }
            }
            Op::Reopen => db = db.reopen(),
            Op::Walk(from, low, high, turns) => walk(&db, from, (low, high), &turns),
            Op::Check => db.check(),
        }
    }
    db.policy.no_fold.store(false, Ordering::SeqCst);
    db.check();
    db.flush();
    db.compact();
    db.check();
    let snapshots = db.policy.snapshots.lock().clone();
    snapshots.into_iter().for_each(|seq| db.end_snapshot(seq));
    db.partition.compact_all().unwrap();
    assert_eq!(db.partition.stats().ranges, 0, "nothing is left that range tombstones hide");
    db.check();
    let db = db.reopen();
    db.check();
    let files = db.partition.stats().files;
    assert_eq!(db.sst_names().len(), files, "only the files of the version are left");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_operations(ops in ops()) {
        run(ops);
    }
}

//! The keys of a dropped tree are hidden at once, whole files are removed by an edit, and shared
//! files lose the keys when they are rewritten.

use crate::common::{Db, tiny_options, tree_key};
use std::sync::atomic::Ordering;

/// Tree 2 is large, trees 1, 3 and 4 are small.
fn fill() -> Db {
    let mut db = Db::new(tiny_options());
    for i in 0..400u32 {
        db.put(&tree_key(2, &format!("{i:05}")), &i.to_le_bytes().repeat(8));
    }
    for tree in [1, 3, 4] {
        for i in 0..5 {
            db.put(&tree_key(tree, &format!("{i}")), b"small");
        }
    }
    db
}

#[test]
fn a_large_tree_has_files_of_its_own_and_small_ones_share() {
    let db = fill();
    db.flush();
    db.compact();
    let files = db.partition.files();
    let of_two: Vec<_> = files.iter().filter(|file| file.trees.contains(&2)).collect();
    assert!(of_two.len() > 1 && of_two.iter().all(|file| file.trees == [2]), "{files:?}");
    assert!(files.iter().any(|file| file.trees == [3, 4]), "{files:?}");
    db.check();
}

#[test]
fn a_large_tree_keeps_to_itself_when_little_of_it_is_written() {
    let mut db = fill();
    db.flush();
    for tree in [1, 2, 3] {
        db.put(&tree_key(tree, "00003"), b"few");
    }
    db.flush();
    let newest: Vec<_> = db.partition.files().into_iter().filter(|file| file.meta.min_seq == db.seq - 1).collect();
    assert!(newest.len() == 1 && newest[0].trees == [2], "{newest:?}");
    db.check();
}

#[test]
fn whole_files_go_by_an_edit_and_the_rest_by_compaction() {
    let mut db = fill();
    db.flush();
    db.compact();
    let before = db.partition.stats();
    for tree in [2, 3] {
        db.policy.dead.lock().insert(tree);
        db.model.drop_tree(tree);
    }
    assert_eq!(db.scan(db.seq), db.model.scan(db.seq), "hidden at once");
    assert_eq!(db.scan_back(db.seq), db.model.scan(db.seq));
    assert!(db.partition.note_dead(&[2, 3]));
    db.partition.remove_dead_files().unwrap();
    let after = db.partition.stats();
    assert_eq!(after.compactions, before.compactions, "nothing was rewritten");
    assert!(after.bytes < before.bytes / 3, "{after:?}");
    assert_eq!(db.sst_names().len(), after.files);
    db.compact();
    let files = db.partition.files();
    assert!(files.iter().all(|file| !file.trees.contains(&3)), "{files:?}");
    assert_eq!(db.partition.stats().entries, 10);
    db.check();
}

#[test]
fn keys_of_a_dead_tree_are_not_flushed() {
    let mut db = fill();
    db.policy.dead.lock().insert(2);
    db.model.drop_tree(2);
    db.flush();
    assert_eq!(db.partition.stats().entries, 15);
    db.check();
}

#[test]
fn files_that_a_compaction_reads_are_not_pulled_from_under_it() {
    let mut db = fill();
    db.flush();
    for round in 1..7 {
        for i in 0..400u32 {
            db.put(&tree_key(2, &format!("{i:05}")), &(i ^ round << 20).to_le_bytes().repeat(8));
        }
        db.flush();
    }
    let job = db.partition.pick_compaction().unwrap();
    assert!(job.bytes() > 0);
    db.policy.dead.lock().insert(2);
    db.model.drop_tree(2);
    db.drop_trees(&[2]).unwrap();
    assert_eq!(db.partition.run_compaction(job, &|| false).unwrap(), alluvium_lsm::Outcome::Done);
    db.compact();
    assert_eq!(db.partition.stats().entries, 15);
    db.check();
}

#[test]
fn a_drop_takes_no_longer_if_many_trees_were_dropped_before() {
    let mut db = Db::new(tiny_options());
    let trees = 1000;
    for tree in 1..=trees {
        db.put(&tree_key(tree, "a"), b"small");
    }
    db.flush();
    db.compact();
    let calls = |db: &Db| db.policy.calls_of_tree_is_live.load(Ordering::Relaxed);
    let before = calls(&db);
    // Trees are dropped one by one, and a worker looks for work after each.
    for tree in 1..=trees {
        db.policy.dead.lock().insert(tree);
        db.model.drop_tree(tree);
        db.drop_trees(&[tree]).unwrap();
        while let Some(job) = db.partition.pick_compaction() {
            db.partition.run_compaction(job, &|| false).unwrap();
        }
    }
    // Each file is examined when it is made, and rewritten once a quarter of its trees is dead. Each rewrite makes the
    // files smaller.
    let calls = calls(&db) - before;
    assert!(calls < 30 * u64::from(trees), "{calls}");
    let stats = db.partition.stats();
    assert_eq!((stats.entries, stats.files), (0, 0));
    db.check();
}

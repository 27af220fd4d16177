//! Filters prove the newest number of a key that was never written twice, and prove nothing for other keys. In trees
//! with marked keys, a key that was written twice does not affect the proofs of other keys.

use crate::common::{Db, tiny_options, tree_key};

const KEYS: u64 = 400;
/// Filters mistake at most this number of keys for marked keys.
const MISTAKEN: usize = KEYS as usize / 25;
/// Keys of this tree are marked; keys of the other tree are not.
const MARKED: u32 = 1;
const TREES: [u32; 2] = [MARKED, 4];

fn key(tree: u32, n: u64) -> Vec<u8> {
    tree_key(tree, &format!("{:05}", n * 7919 % 10_007))
}

fn loaded(tree: u32) -> Db {
    let mut db = Db::new(tiny_options());
    for n in 0..KEYS {
        db.put(&key(tree, n), &n.to_le_bytes());
        if n % 90 == 0 {
            db.flush();
        }
    }
    db.flush();
    db
}

/// Checks that `expected` keys have proofs, or a few less.
fn check(tree: u32, found: usize, expected: usize, step: &str) {
    let least = expected.saturating_sub(MISTAKEN).max(expected.min(1));
    assert!((least..=expected).contains(&found), "tree {tree}, {step}: {found} of {expected}");
}

#[test]
fn written_once() {
    for tree in TREES {
        let mut db = loaded(tree);
        let most = KEYS as usize * 8 / 10;
        assert!(db.check_numbers() >= most, "but for what filters take for another");
        db.partition.compact_all().unwrap();
        check(tree, db.check_numbers(), KEYS as usize, "one run has no other place");
        db = db.reopen();
        let found = db.check_numbers();
        check(tree, found, KEYS as usize, "opened again");
        // A key that is also in a memtable has no proof.
        db.put(&key(tree, 0), b"again");
        assert_eq!(db.check_numbers(), found - 1);
    }
}

#[test]
fn written_again_or_deleted() {
    for (tree, step) in TREES.into_iter().flat_map(|tree| ["put", "delete", "range", "delta"].map(|step| (tree, step)))
    {
        let mut db = loaded(tree);
        let newest = key(tree, KEYS - 1);
        match step {
            "put" => db.put(&newest, b"again"),
            "delete" => db.delete(&newest),
            "range" => db.delete_range(&newest, &tree_key(tree, "\u{7f}")),
            _ => db.delta(&newest, b"more"),
        }
        let before = db.check_numbers();
        assert!(before > KEYS as usize / 2, "{step}: others still do");
        db.flush();
        db.compact();
        db.check_numbers();
        db.partition.compact_all().unwrap();
        // The numbers of all other keys were lower. A mark concerns one key, for which it proves nothing. Without
        // marks, a delta alone in the files is no full write.
        let expected = match step {
            "put" | "delta" if tree == MARKED => KEYS as usize - 1,
            "put" => 1,
            _ => 0,
        };
        check(tree, db.check_numbers(), expected, step);
        db = db.reopen();
        let found = db.check_numbers();
        check(tree, found, expected, step);
        db.put(&tree_key(tree, "new"), b"new");
        db.flush();
        check(tree, db.check_numbers(), found + 1, step);
    }
}

#[test]
fn marks_outlive_what_they_are_of() {
    let mut db = loaded(MARKED);
    let twice: Vec<Vec<u8>> = (0..40).map(|n| key(MARKED, n * 10)).collect();
    twice.iter().for_each(|key| db.put(key, b"again"));
    db.flush();
    // Each round rewrites all files, and meets no older versions any more.
    for _ in 0..3 {
        db.partition.compact_all().unwrap();
        check(MARKED, db.check_numbers(), KEYS as usize - twice.len(), "rewritten");
    }
    db.check();
    // A deleted key has no mark any more; the number of its tree covers it.
    db.delete(&twice[39]);
    db.flush();
    db.partition.compact_all().unwrap();
    assert_eq!(db.check_numbers(), 0, "all others were written before");
    db.put(&twice[39], b"back");
    db.flush();
    db.partition.compact_all().unwrap();
    check(MARKED, db.check_numbers(), 1, "back");
    db.check();
}

//! Estimates of the number of keys after many keys were deleted, at either end, in memory and in
//! files.

use crate::common::{Db, key, tiny_options, tree_key};

const KEYS: u32 = 8000;

fn number(n: u32) -> Vec<u8> {
    tree_key(1, &format!("key{n:06}"))
}

fn estimate(db: &Db) -> u64 {
    db.partition.view().estimate(&key(""), &tree_key(2, "")).unwrap()
}

/// Checks that the estimate is off by at most a tenth.
fn check(db: &Db, expected: u32, what: &str) {
    let found = estimate(db);
    assert!(found.abs_diff(u64::from(expected)) <= u64::from(expected) / 10, "{what}: {found}, not {expected}");
}

#[test]
fn of_keys_that_were_deleted_where_they_were_put() {
    for (what, gone) in [("the first", 0..600), ("the last", 5000..KEYS), ("in the middle", 3000..4000)] {
        let mut db = Db::new(tiny_options());
        (0..KEYS).for_each(|n| db.put(&number(n), b"v"));
        check(&db, KEYS, "all");
        gone.clone().for_each(|n| db.delete(&number(n)));
        check(&db, KEYS - gone.len() as u32, what);
    }
}

#[test]
fn of_keys_in_files_that_were_deleted_later() {
    for (what, gone) in [("the first", 0..600), ("the last", 7000..KEYS)] {
        let mut db = Db::new(tiny_options());
        (0..KEYS).for_each(|n| db.put(&number(n), b"v"));
        db.flush();
        db.compact();
        gone.clone().for_each(|n| db.delete(&number(n)));
        check(&db, KEYS - gone.len() as u32, what);
    }
}

#[test]
fn of_few_keys_exactly() {
    let mut db = Db::new(tiny_options());
    (0..8).for_each(|n| db.put(&number(n), b"v"));
    (0..3).for_each(|n| db.delete(&number(n)));
    assert_eq!(estimate(&db), 5);
    // Overwritten, and overwritten again.
    (2..8).for_each(|n| db.put(&number(n), b"w"));
    assert_eq!(estimate(&db), 6);
    db.flush();
    (0..8).for_each(|n| db.delete(&number(n)));
    (0..2).for_each(|n| db.put(&number(n), b"x"));
    assert!(estimate(&db) <= 2, "{}", estimate(&db));
}

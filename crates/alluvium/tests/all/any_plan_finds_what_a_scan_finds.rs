//! With any indexes, any hint, and any earlier blind writes, a query returns each document that matches the filter
//! once, in order.

use crate::queries::{INDEXES, Step, check, filter, run, sort, step};
use alluvium::{Database, Hint};
use proptest::prelude::*;
use std::path::Path;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_finds_what_a_scan_finds(
        steps in proptest::collection::vec(step(), 1..80),
        made in proptest::collection::vec(0..INDEXES.len(), 0..5),
        early in any::<bool>(),
        queries in proptest::collection::vec((filter(), sort()), 1..6),
        remember in prop::sample::select(vec![0, 100, usize::MAX]),
    ) {
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).partitions(3).open(Path::new("db")).unwrap();
        let c = db.create_collection("c").run().unwrap();
        let make = || made.iter().for_each(|at| drop(c.create_index(INDEXES[*at].0).options(INDEXES[*at].1).run().unwrap()));
        if early {
            make();
        }
        for step in &steps {
            match step {
                Step::Flush => db.flush().unwrap(),
                step => run(&c, step),
            }
        }
        make();
        let hints = c.indexes().unwrap().into_iter().map(|index| Some(Hint::from(index.name)));
        let hints: Vec<Option<Hint>> = hints.chain([None, Some(Hint::from(r#"{"$natural": -1}"#))]).collect();
        for (filter, sort) in &queries {
            for hint in &hints {
                // The hints include a backward scan of all documents, whose order differs from a hint of the index on
                // `_id`.
                check(&db, &c, filter, sort, hint.clone(), remember);
            }
        }
    }
}

#[test]
fn a_cursor_sees_one_moment_while_others_write() {
    let env = alluvium_env::Env::in_memory(1);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let c = db.collection("c");
    c.create_index(r#"{"n": 1}"#).run().unwrap();
    c.insert_many((0..100).map(|n| format!(r#"{{"_id": {n}, "n": {}}}"#, n % 10))).unwrap();
    let mut cursor =
        c.find(r#"{"n": {"$gte": 5}}"#).sort(r#"{"n": 1, "_id": 1}"#).hint("n_1").batch_size(10).run().unwrap();
    let mut found = cursor.next_batch().unwrap();
    assert_eq!(found.len(), 10);
    // All documents change, and so do their index entries.
    c.update_many("{}", r#"{"$set": {"n": 0}}"#).run().unwrap();
    c.delete_many(r#"{"_id": {"$lt": 50}}"#).run().unwrap();
    c.drop_indexes().unwrap();
    loop {
        let more = cursor.next_batch().unwrap();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    assert_eq!(found.len(), 50);
    assert!(found.iter().all(|document| document.to_map().unwrap().get("n").unwrap().as_i64().unwrap() >= 5));
    assert_eq!(c.find(r#"{"n": {"$gte": 5}}"#).count().unwrap(), 0);
}

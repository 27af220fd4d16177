//! An index scan seeks the next entry that may be within its bounds, and skips all entries in
//! between. A search for the distinct values of a path seeks from each value to the next.

use alluvium::{Collection, Database, Document, Explanation, Value};
use std::path::Path;

const KINDS: i64 = 20;
const EACH: i64 = 2000;

fn filled(partitions: u32) -> (Database, Collection) {
    let env = alluvium_env::Env::in_memory(1);
    let db = Database::builder().env(env).partitions(partitions).open(Path::new("db")).unwrap();
    let c = db.collection("c");
    c.create_index(r#"{"kind": 1, "at": 1}"#).run().unwrap();
    c.create_index(r#"{"kind": -1, "at": -1, "no": 1}"#).run().unwrap();
    let all =
        (0..KINDS * EACH).map(|n| format!(r#"{{"_id": {n}, "kind": {}, "at": {}, "no": {n}}}"#, n % KINDS, n / KINDS));
    c.insert_many(all).unwrap();
    db.flush().unwrap();
    (db, c)
}

/// The documents found, in the order of the index, and the explanation.
fn ask(c: &Collection, filter: &str, sort: &str, hint: &str) -> (Vec<i64>, Explanation) {
    let find = || c.find(filter).sort(sort).hint(hint);
    let found: Vec<Document> = find().run().unwrap().collect::<Result<_, _>>().unwrap();
    let numbers = found.iter().map(|document| document.id().as_i64().unwrap()).collect();
    (numbers, find().explain().unwrap())
}

#[test]
fn entries_outside_the_bounds_are_passed_over_by_seeks() {
    for partitions in [1, 3] {
        let (_db, c) = filled(partitions);
        for (filter, wanted) in [
            (r#"{"at": 700}"#, (0..KINDS).map(|kind| 700 * KINDS + kind).collect::<Vec<i64>>()),
            (r#"{"at": {"$in": [3, 1999]}, "kind": {"$gte": 4, "$lt": 6}}"#, vec![64, 65, 39984, 39985]),
            (r#"{"at": {"$gt": 1998}, "kind": {"$gt": 17}}"#, vec![39998, 39999]),
            (r#"{"at": {"$lt": 0}}"#, vec![]),
        ] {
            for hint in ["kind_1_at_1", "kind_-1_at_-1_no_1"] {
                for sort in ["{}", r#"{"kind": 1, "at": 1}"#, r#"{"kind": -1, "at": -1}"#] {
                    let (mut found, explained) = ask(&c, filter, sort, hint);
                    found.sort_unstable();
                    assert_eq!(found, wanted, "{filter} {sort} {hint}");
                    let most = (2 * KINDS as u64 + 2) * (33 * u64::from(partitions) + 2);
                    let keys = explained.keys_examined;
                    assert!(keys < most, "{keys} of {}: {explained}", KINDS * EACH);
                    assert!(explained.seeks <= 3 * KINDS as u64, "{explained}");
                }
            }
        }
    }
}

#[test]
fn what_lies_close_is_not_sought() {
    let (_db, c) = filled(1);
    // Two of every three entries are within the bounds.
    let all = (0..300).map(|n| format!(r#"{{"_id": {}, "kind": 50, "at": {}, "no": {}}}"#, 100_000 + n, n / 3, n % 3));
    c.insert_many(all).unwrap();
    let (found, explained) =
        ask(&c, r#"{"kind": 50, "at": {"$gte": 0}, "no": {"$lte": 1}}"#, "{}", "kind_-1_at_-1_no_1");
    assert_eq!((found.len(), explained.keys_examined, explained.seeks), (200, 300, 1), "{explained}");
}

#[test]
fn distinct_values_are_sought_one_by_one() {
    let (db, c) = filled(2);
    // The first documents of kind 3, and all documents of kind 5, now have another kind, so their
    // old entries are stale.
    for n in (0..200).map(|n| n * KINDS + 3).chain((0..EACH).map(|n| n * KINDS + 5)) {
        c.put(n, format!(r#"{{"kind": 7, "at": {n}}}"#)).unwrap();
    }
    db.flush().unwrap();
    let examined = || c.index_stats().unwrap().iter().map(|index| index.examined).sum::<u64>();
    let before = examined();
    let kinds: Vec<i64> = c.find("{}").distinct("kind").unwrap().iter().map(|kind| kind.as_i64().unwrap()).collect();
    assert_eq!(kinds, (0..KINDS).filter(|kind| *kind != 5).collect::<Vec<_>>());
    let took = examined() - before;
    assert!(took < 200 + EACH as u64 + KINDS as u64 * (33 * 2 + 2), "{took} entries");
    // A missing value has the key of null, but is not a value.
    c.put(-1, r#"{"no": 1}"#).unwrap();
    assert!(!c.find("{}").distinct("kind").unwrap().contains(&Value::Null));
    c.put(-2, r#"{"kind": null, "at": 1}"#).unwrap();
    assert_eq!(c.find("{}").distinct("kind").unwrap()[0], Value::Null);
    // A skip or a limit applies to documents, not to distinct values.
    let first = c.find("{}").sort(r#"{"kind": 1}"#).limit(3).distinct("kind").unwrap();
    assert_eq!(first, [Value::Null, Value::from(0)]);
}

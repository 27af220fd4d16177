//! Writes by filter change each document that matches at the time of its write once, and count these documents, even
//! during concurrent writes of the same documents.

use alluvium::{Collection, Database, Error, ErrorKind, Map, ReturnDocument, Value, WriteModel};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn open() -> (Database, Collection) {
    let db = Database::builder().env(alluvium_env::Env::in_memory(1)).partitions(3).open(Path::new("db")).unwrap();
    let c = db.create_collection("c").run().unwrap();
    (db, c)
}

fn text(c: &Collection, id: impl Into<Value>) -> String {
    c.get(id).unwrap().unwrap().to_string()
}

#[test]
fn one_or_all_are_updated_replaced_and_deleted() {
    let (_db, c) = open();
    c.create_index(r#"{"tags": 1}"#).run().unwrap();
    c.insert_many((0..10).map(|n| format!(r#"{{"_id": {n}, "k": {}, "tags": ["x", "y", {n}]}}"#, n % 2))).unwrap();
    // Each document has two entries within the bounds, and is changed once.
    let result =
        c.update_many(r#"{"tags": {"$in": ["x", "y"]}}"#, r#"{"$inc": {"n": 1}}"#).hint("tags_1").run().unwrap();
    assert_eq!((result.matched_count, result.modified_count, result.upserted_id), (10, 10, None));
    assert_eq!(c.find(r#"{"n": 1}"#).count().unwrap(), 10);
    let result = c.update_many(r#"{"k": 1}"#, r#"{"$set": {"k": 1}}"#).run().unwrap();
    assert_eq!((result.matched_count, result.modified_count), (5, 0));
    let result = c.update_one(r#"{"k": 1}"#, r#"{"$set": {"last": true}}"#).sort(r#"{"_id": -1}"#).run().unwrap();
    assert_eq!((result.matched_count, result.modified_count), (1, 1));
    assert!(text(&c, 9).contains("last"));
    let result = c.update_one(r#"{"tags": 7}"#, r#"{"$set": {"tags.$": "seven"}}"#).run().unwrap();
    assert_eq!(result.modified_count, 1);
    assert!(text(&c, 7).contains(r#"["x","y","seven"]"#));
    let update = c.update_many(r#"{"k": 0}"#, r#"{"$set": {"tags.$[n]": 0}}"#).array_filters([r#"{"n": {"$gte": 4}}"#]);
    assert_eq!(update.run().unwrap().modified_count, 3);
    c.replace_one(r#"{"_id": 3}"#, r#"{"new": 1}"#).run().unwrap();
    assert_eq!(text(&c, 3), r#"{"_id":3,"new":1}"#);
    assert_eq!(c.delete_one(r#"{"k": 0}"#).run().unwrap().deleted_count, 1);
    assert_eq!(c.delete_many(r#"{"k": 0}"#).run().unwrap().deleted_count, 4);
    assert_eq!(c.delete_many(r#"{"k": 0}"#).run().unwrap().deleted_count, 0);
    assert_eq!(c.count().unwrap(), 5);
}

#[test]
fn what_is_written_is_returned() {
    let (_db, c) = open();
    c.insert_many([r#"{"_id": 1, "n": 5}"#, r#"{"_id": 2, "n": 9}"#]).unwrap();
    let take = || c.find_one_and_update(r#"{"n": {"$lt": 100}}"#, r#"{"$inc": {"n": 100}}"#).sort(r#"{"n": -1}"#);
    assert_eq!(take().run().unwrap().unwrap().to_string(), r#"{"_id":2,"n":9}"#);
    let after = take().return_document(ReturnDocument::After).projection(r#"{"_id": 0}"#).run().unwrap().unwrap();
    assert_eq!(after.to_string(), r#"{"n":105}"#);
    assert!(take().run().unwrap().is_none());
    let made = c.find_one_and_update(r#"{"k": 3}"#, r#"{"$set": {"n": 1}}"#).upsert(true);
    assert!(made.clone().run().unwrap().is_none(), "there was nothing before");
    let made = made.return_document(ReturnDocument::After).projection(r#"{"_id": 0}"#).run().unwrap().unwrap();
    assert_eq!(made.to_string(), r#"{"k":3,"n":1}"#);
    let replaced = c.find_one_and_replace(r#"{"k": 3}"#, r#"{"k": 4}"#).return_document(ReturnDocument::After).run();
    assert!(replaced.unwrap().unwrap().to_string().ends_with(r#""k":4}"#));
    assert!(c.find_one_and_delete(r#"{"k": 4}"#).run().unwrap().is_some());
    assert!(c.find_one_and_delete(r#"{"k": 4}"#).upsert(true).run().unwrap().is_none());
    assert_eq!(c.count().unwrap(), 2);
}

#[test]
fn an_upsert_inserts_what_filter_and_update_say() {
    let (db, c) = open();
    let result = c.update_one(r#"{"_id": 1, "a.b": 2, "n": {"$gt": 3}}"#, r#"{"$set": {"c": 3}}"#).upsert(true).run();
    assert_eq!(result.unwrap().upserted_id, Some(Value::from(1)));
    assert_eq!(text(&c, 1), r#"{"_id":1,"a":{"b":2},"c":3}"#);
    // The document exists, but does not match.
    let error = c.update_one(r#"{"_id": 1, "n": 0}"#, r#"{"$set": {"c": 4}}"#).upsert(true).run().unwrap_err();
    assert_eq!((error.kind(), error.code().unwrap().0), (ErrorKind::DuplicateKey, 11000));
    assert_eq!(text(&c, 1), r#"{"_id":1,"a":{"b":2},"c":3}"#);
    let result = c.replace_one(r#"{"_id": 2}"#, r#"{"x": 1}"#).upsert(true).run().unwrap();
    assert_eq!((result.matched_count, result.upserted_id), (0, Some(Value::from(2))));
    let result = c.update_many(r#"{"_id": 3}"#, r#"{"$inc": {"x": 1}}"#).upsert(true).run().unwrap();
    assert_eq!((result.matched_count, result.upserted_id), (0, Some(Value::from(3))));
    let fresh = db.collection("fresh");
    fresh.update_one(r#"{"k": 1}"#, r#"{"$set": {"n": 1}}"#).upsert(true).run().unwrap();
    assert_eq!(fresh.count().unwrap(), 1);
}

/// By MongoDB's manual, "Field Names with Periods and Dollar Signs", an upsert that inserts follows the rules of an
/// insert.
#[test]
fn only_a_document_that_is_inserted_has_fields_with_a_dollar() {
    let (_db, c) = open();
    let update = r#"{"$set": {"phone": 25, "$hotel": 320}}"#;
    let result = c.update_one(r#"{"_id": "new"}"#, update).upsert(true).run().unwrap();
    assert_eq!(result.upserted_id, Some(Value::from("new")));
    assert_eq!(text(&c, "new"), r#"{"_id":"new","$hotel":320,"phone":25}"#);
    let code = |result: alluvium::Result<alluvium::UpdateResult>| result.unwrap_err().code().unwrap().0;
    assert_eq!(code(c.update_one(r#"{"_id": "new"}"#, update).upsert(true).run()), 52);
    assert_eq!(c.update_one(r#"{"_id": "none"}"#, update).run().unwrap().matched_count, 0);
    c.replace_one(r#"{"_id": "other"}"#, r#"{"a": 1, "$b": 2}"#).upsert(true).run().unwrap();
    assert_eq!(text(&c, "other"), r#"{"_id":"other","a":1,"$b":2}"#);
    assert_eq!(code(c.replace_one(r#"{"_id": "other"}"#, r#"{"a": 1, "$b": 2}"#).run()), 52);
}

#[test]
fn an_update_that_matches_nothing_does_not_fail_by_what_it_would_compute() {
    let (_db, c) = open();
    let update = r#"[{"$set": {"a": {"$divide": [1, 0]}}}]"#;
    assert_eq!(c.update_many(r#"{"none": 1}"#, update).run().unwrap().matched_count, 0);
    c.put("there", r#"{"n": 1}"#).unwrap();
    assert_eq!(c.update_many(r#"{"_id": "there"}"#, update).run().unwrap_err().code().unwrap().0, 2);
}

#[test]
fn counters_add_up_under_many_writers() {
    let (_db, c) = open();
    c.create_index(r#"{"k": 1}"#).run().unwrap();
    c.insert_many((0..20).map(|n| format!(r#"{{"_id": {n}, "k": {}, "n": 0}}"#, n % 4))).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let c = c.clone();
            std::thread::spawn(move || {
                let mut counted = 0;
                for round in 0..25 {
                    let filter = format!(r#"{{"k": {}}}"#, (thread + round) % 4);
                    counted += c.update_many(&*filter, r#"{"$inc": {"n": 1}}"#).run().unwrap().modified_count;
                    counted += c.update_one(&*filter, r#"{"$inc": {"n": 1}}"#).run().unwrap().modified_count;
                    let moved = c.find_one_and_update(&*filter, r#"{"$inc": {"n": 1, "moved": 1}}"#).run().unwrap();
                    counted += u64::from(moved.is_some());
                }
                counted
            })
        })
        .collect();
    let counted: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let n = |document: alluvium::Document| document.to_map().unwrap().get("n").unwrap().as_i64().unwrap() as u64;
    let sum: u64 = c.find("{}").run().unwrap().map(|document| n(document.unwrap())).sum();
    assert_eq!((sum, counted), (4 * 25 * 7, 4 * 25 * 7));
}

#[test]
fn each_job_is_taken_once() {
    let (_db, c) = open();
    c.create_index(r#"{"state": 1}"#).run().unwrap();
    c.insert_many((0..60).map(|n| format!(r#"{{"_id": {n}, "state": "new"}}"#))).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let c = c.clone();
            std::thread::spawn(move || {
                let mut taken = Vec::new();
                let take = || c.find_one_and_update(r#"{"state": "new"}"#, r#"{"$set": {"state": "taken"}}"#).run();
                while let Some(job) = take().unwrap() {
                    taken.push(job.id().as_i64().unwrap());
                }
                taken
            })
        })
        .collect();
    let mut taken: Vec<i64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, (0..60).collect::<Vec<_>>());
}

#[test]
fn upserts_of_the_same_make_one_document() {
    const NAMES: u64 = 100;
    for field in ["_id", "name", "unique"] {
        let (_db, c) = open();
        c.create_index(r#"{"unique": 1}"#).options(r#"{"unique": true, "sparse": true}"#).run().unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let c = c.clone();
                std::thread::spawn(move || {
                    let (mut matched, mut inserted) = (0, 0);
                    for name in 0..NAMES {
                        let filter = format!(r#"{{"{field}": {name}}}"#);
                        let done = c.update_one(filter, r#"{"$inc": {"n": 1}}"#).upsert(true).run().unwrap();
                        matched += done.matched_count;
                        inserted += u64::from(done.upserted_id.is_some());
                    }
                    (matched, inserted)
                })
            })
            .collect();
        let done: Vec<(u64, u64)> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(done.iter().map(|done| done.1).sum::<u64>(), NAMES, "{field}");
        assert_eq!(done.iter().map(|done| done.0).sum::<u64>(), 3 * NAMES, "{field}");
        assert_eq!(c.find(r#"{"n": 4}"#).count().unwrap(), NAMES, "{field}");
        assert_eq!(c.count().unwrap(), NAMES, "{field}");
    }
}

/// No lock separates concurrent upserts whose filters are equivalent but written differently. The slower upsert gets a
/// duplicate key, and finds the document when it searches again.
#[test]
fn upserts_of_a_unique_key_in_many_words_make_one_document() {
    const ROUNDS: i64 = 100;
    let (_db, c) = open();
    c.create_index(r#"{"a.b": 1, "k": -1}"#).unique(true).run().unwrap();
    let words = [
        r#"{"k": N, "a.b": 1}"#,
        r#"{"k": {"$in": [N]}, "a.b": {"$eq": 1}}"#,
        r#"{"k": N.0, "a.b": 1.0}"#,
        r#"{"a.b": {"$in": [1.0]}, "k": N}"#,
    ];
    let threads: Vec<_> = words
        .map(|words| {
            let c = c.clone();
            std::thread::spawn(move || {
                for n in 0..ROUNDS {
                    let filter = words.replace('N', &n.to_string());
                    c.update_one(filter, r#"{"$inc": {"n": 1}}"#).upsert(true).run().unwrap();
                }
            })
        })
        .into_iter()
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(c.count().unwrap(), ROUNDS as u64);
    assert_eq!(c.find(r#"{"n": 4}"#).count().unwrap(), ROUNDS as u64);
}

#[test]
fn a_key_that_the_filter_does_not_ask_for_is_reported_at_once() {
    let (_db, c) = open();
    c.create_index(r#"{"k": 1}"#).unique(true).run().unwrap();
    c.create_index(r#"{"n": 1}"#).run().unwrap();
    c.insert_one(r#"{"_id": 1, "k": 5, "n": 1}"#).unwrap();
    let uses = || c.index_stats().unwrap().iter().find(|index| index.name == "n_1").unwrap().uses;
    for (filter, update) in [
        (r#"{"n": 7}"#, r#"{"$set": {"k": 5}}"#),
        (r#"{"n": 7, "k": 5}"#, r#"{"$set": {"x": 5}}"#),
        (r#"{"n": {"$gt": 7}, "k": 5}"#, r#"{"$set": {"x": 5}}"#),
        (r#"{"n": 7, "_id": 1}"#, r#"{"$set": {"k": 6}}"#),
        (r#"{"k": 6}"#, r#"{"$set": {"k": 5}}"#),
        (r#"{"k": [5, 6]}"#, r#"{"$set": {"x": 5}}"#),
    ] {
        for many in [false, true] {
            let before = uses();
            let write = if many { c.update_many(filter, update) } else { c.update_one(filter, update) };
            let error = write.hint("n_1").upsert(true).run().unwrap_err();
            assert_eq!(error.code().unwrap().0, 11000, "{filter} {update}: {error}");
            assert!(uses() - before <= 2, "{filter} {update}: {} searches", uses() - before);
        }
    }
    assert_eq!(c.count().unwrap(), 1);
}

#[test]
fn bulk_writes_report_each_write() {
    let (_db, c) = open();
    let writes = || {
        [
            WriteModel::insert_one(r#"{"_id": 1}"#),
            WriteModel::insert_one(r#"{"_id": 1}"#),
            c.update_one(r#"{"_id": 1}"#, r#"{"$inc": {"n": 1}}"#).into(),
            c.update_one(r#"{"_id": 1}"#, r#"{"$wrong": {"n": 1}}"#).into(),
            c.update_one(r#"{"_id": 2}"#, r#"{"$inc": {"n": 1}}"#).upsert(true).into(),
            c.delete_many(r#"{"n": 1}"#).into(),
        ]
    };
    let Err(Error::BulkWrite { result, errors }) = c.bulk_write(writes()).run() else { panic!("the second fails") };
    assert_eq!((result.inserted_count, result.matched_count), (1, 0));
    assert_eq!(
        errors.iter().map(|(at, error)| (*at, error.kind())).collect::<Vec<_>>(),
        [(1, ErrorKind::DuplicateKey)]
    );
    c.delete(1).unwrap();
    let Err(Error::BulkWrite { result, errors }) = c.bulk_write(writes()).ordered(false).run() else {
        panic!("two fail")
    };
    assert_eq!(errors.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 3]);
    assert_eq!((result.inserted_count, result.modified_count, result.deleted_count), (1, 1, 2));
    assert_eq!(result.upserted_ids, [(4, Value::from(2))]);
    assert_eq!(c.count().unwrap(), 0);
}

#[test]
fn what_fails_midway_says_how_much_was_done() {
    let (_db, c) = open();
    c.create_index(r#"{"u": 1}"#).options(r#"{"unique": true, "sparse": true}"#).run().unwrap();
    c.insert_many(
        (0..10).map(|n| format!(r#"{{"_id": {n}, "n": {}}}"#, if n == 7 { "\"seven\"".into() } else { n.to_string() })),
    )
    .unwrap();
    let error = c.update_many("{}", r#"{"$inc": {"n": 100}}"#).hint("_id_").run().unwrap_err();
    let Error::WriteMany { matched_count, modified_count, deleted, error: cause } = &error else { panic!("{error}") };
    assert_eq!((*matched_count, *modified_count, *deleted), (7, 7, false));
    assert_eq!((error.code(), error.kind()), (cause.code(), ErrorKind::Invalid));
    assert_eq!(error.code().unwrap().1, "TypeMismatch");
    assert!(error.to_string().ends_with("; before that, 7 of 7 matching documents had been updated"), "{error}");
    assert_eq!(c.find(r#"{"n": {"$gte": 100}}"#).count().unwrap(), 7);
    // No document was written before the error, so the error is returned unchanged.
    let error = c.update_many(r#"{"_id": 7}"#, r#"{"$inc": {"n": 1}}"#).run().unwrap_err();
    assert!(matches!(&error, Error::UpdateOf { id, .. } if id == "7"), "{error}");
    // The second document would get the key of the first.
    let error = c.update_many("{}", r#"{"$set": {"u": 1}}"#).hint("_id_").run().unwrap_err();
    assert_eq!((error.kind(), error.code().unwrap().0), (ErrorKind::DuplicateKey, 11000));
    assert!(matches!(error, Error::WriteMany { matched_count: 1, modified_count: 1, .. }), "{error}");
    // Bulk writes report the same counts.
    let writes =
        [c.update_many("{}", r#"{"$inc": {"n": 1}}"#).hint("_id_").into(), WriteModel::insert_one(r#"{"_id": 99}"#)];
    let Err(Error::BulkWrite { result, errors }) = c.bulk_write(writes).ordered(false).run() else {
        panic!("one fails")
    };
    assert_eq!((result.modified_count, result.matched_count, result.inserted_count, errors.len()), (7, 7, 1, 1));
}

#[test]
fn it_lasts_longer_than_any_snapshot() {
    const DOCUMENTS: i32 = 10_000;
    let tuning = alluvium_store::Tuning { gather_bytes: Some(256), ..alluvium_store::Tuning::default() };
    let options = alluvium_store::Options {
        tuning,
        snapshot_max_age: Duration::from_secs(60),
        ..alluvium_store::Options::default()
    };
    let clock = Arc::new(alluvium_env::ManualClock::new());
    let env = alluvium_env::Env { clock: clock.clone(), ..alluvium_env::Env::in_memory(1) };
    let db = Database::builder().env(env.clone()).options(options).partitions(2).open(Path::new("db")).unwrap();
    let pets = db.collection("pets");
    let mut batch = db.write_batch();
    for id in 0..DOCUMENTS {
        batch.put(&pets, id, Map::from([("age", Value::from(id % 7)), ("n", Value::from(0))])).unwrap();
    }
    batch.commit().unwrap();
    let spilled = alluvium_collections::marks::KEYS_SPILLED.hits();
    let result = std::thread::scope(|scope| {
        let update = pets.update_many(r#"{"age": {"$gt": 0}}"#, r#"{"$inc": {"n": 1}}"#);
        let updated = scope.spawn(|| update.run());
        // Once some documents are written, let all existing snapshots end.
        while !updated.is_finished() && pets.find_one(r#"{"n": 1}"#).unwrap().is_none() {}
        clock.advance(Duration::from_secs(3600));
        while !updated.is_finished() {
            db.flush().unwrap();
        }
        updated.join().unwrap().unwrap()
    });
    let expected = (0..DOCUMENTS).filter(|id| id % 7 > 0).count() as u64;
    assert_eq!((result.matched_count, result.modified_count), (expected, expected));
    assert_eq!(pets.find(r#"{"n": 1}"#).count().unwrap(), expected);
    assert!(alluvium_collections::marks::KEYS_SPILLED.hits() > spilled);
    let left = env.fs.list(Path::new("db")).unwrap();
    assert!(!left.iter().any(|entry| entry.name.starts_with(alluvium_store::SORT_PREFIX)), "{left:?}");
}

#[test]
fn a_pipeline_may_set_a_field_whose_name_begins_with_a_dollar() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    pets.put(1, r#"{"a": 1}"#).unwrap();
    let stages = r#"[{"$replaceWith": {"$setField": {"field": {"$literal": "$a"}, "value": 2, "input": "$$ROOT"}}}]"#;
    assert_eq!(pets.update_one(r#"{"_id": 1}"#, stages).run().unwrap().modified_count, 1);
    assert_eq!(pets.get(1).unwrap().unwrap().to_string(), r#"{"_id":1,"a":1,"$a":2}"#);
    // A replacement may not have such a field, since it would be taken for an update with operators.
    assert!(pets.replace_one(r#"{"_id": 1}"#, r#"{"a": 1, "$a": 2}"#).run().is_err());
}

use super::*;
use crate::error::ErrorKind;
use crate::find::FindRequest;
use crate::testing::{Collection, Database};
use alluvium_document::IntoDocument;
use alluvium_query::expression::Variables;
use alluvium_store::{Durability, Options};

fn database() -> Database {
    Database::with(Options::default())
}

fn update(text: &str) -> Action {
    Action::Modify(Modification::parse(&text.into_map().unwrap(), &[]).unwrap())
}

fn field(collection: &Collection, id: i32, name: &str) -> Option<i64> {
    collection.get(id)?.to_map().unwrap().get(name).and_then(Value::as_i64)
}

/// Documents `{_id, n, tags: [n, n + 1]}` for `n` from 0, with an index of each field.
fn numbered(db: &Database, count: i32) -> Collection {
    let collection = db.collection("c");
    let document = |n: i32| format!(r#"{{"_id": {n}, "n": {n}, "tags": [{n}, {}], "done": 0}}"#, n + 1);
    collection.insert((0..count).map(document).collect::<Vec<_>>().iter().map(String::as_str));
    collection.create_index(r#"{"n": 1}"#, "{}");
    collection.create_index(r#"{"tags": 1}"#, "{}");
    collection
}

fn sum(collection: &Collection, name: &str, count: i32) -> i64 {
    (0..count).filter_map(|id| field(collection, id, name)).sum()
}

#[test]
fn each_document_is_written_once_by_all_its_entries() {
    let db = database();
    let c = numbered(&db, 50);
    for filter in [
        r#"{"tags": {"$gte": 0}}"#,
        r#"{"$or": [{"n": {"$gte": 0}}, {"tags": {"$lte": 100}}, {"n": 7}]}"#,
        r#"{"tags": {"$in": [0, 1, 2, 3]}, "n": {"$gte": 0}}"#,
    ] {
        let before = sum(&c, "done", 50);
        let result = c.write_where(filter, update(r#"{"$inc": {"done": 1}}"#)).all().unwrap();
        let expected = if filter.contains("$in") { 4 } else { 50 };
        assert_eq!((result.matched_count, result.modified_count), (expected, expected), "{filter}");
        assert_eq!(sum(&c, "done", 50) - before, expected as i64, "{filter}");
    }
}

#[test]
fn a_document_that_moves_in_the_index_is_written_once() {
    let db = database();
    let c = numbered(&db, 50);
    let result = c.write_where(r#"{"n": {"$gte": 0}}"#, update(r#"{"$inc": {"n": 1000, "done": 1}}"#)).all().unwrap();
    assert_eq!((result.matched_count, sum(&c, "done", 50)), (50, 50));
}

#[test]
fn more_keys_than_memory_are_written_in_their_order() {
    let mut options = Options::default();
    options.tuning.gather_bytes = Some(100);
    let db = Database::with(options);
    let c = numbered(&db, 200);
    let mut write = c.write_where(r#"{"n": {"$gte": 10}}"#, update(r#"{"$inc": {"done": 1}}"#));
    let mut found = FoundKeys::collect(write.execute().unwrap(), &db.engine, &write.query.request.limits).unwrap();
    let mut keys = Vec::new();
    while let Some(key) = found.next(&write.query.request.limits).unwrap() {
        keys.push(key);
    }
    assert_eq!(keys.len(), 190);
    assert_eq!(write.all().unwrap().modified_count, 190);
    assert_eq!(sum(&c, "done", 200), 190);
}

/// Other writers change a document between its search and its write.
#[test]
fn a_document_is_matched_again_under_its_lock() {
    let db = database();
    let c = numbered(&db, 5);
    for (other, expected) in [(r#"{"$set": {"n": -1}}"#, false), (r#"{"$inc": {"done": 10}}"#, true)] {
        let mut write = c.write_where(r#"{"n": 3}"#, update(r#"{"$inc": {"done": 1}}"#));
        c.update(3, r#"{"$set": {"n": 3, "done": 0}}"#);
        let key = write.first().unwrap().unwrap();
        c.update(3, other);
        let done = write.write(&key).unwrap();
        assert_eq!(done.matched, expected, "after {other}");
        assert_eq!(field(&c, 3, "done"), Some(if expected { 11 } else { 0 }), "nothing is lost after {other}");
    }
    // A document that was deleted after the search is not written again.
    let mut write = c.write_where(r#"{"n": 4}"#, update(r#"{"$inc": {"done": 1}}"#));
    let key = write.first().unwrap().unwrap();
    c.write_where(r#"{"n": 4}"#, Action::Delete).one().unwrap();
    assert!(!write.write(&key).unwrap().matched);
    assert!(c.get(4).is_none());
    // The same for a delete.
    let mut delete = c.write_where(r#"{"n": 2}"#, Action::Delete);
    let key = delete.first().unwrap().unwrap();
    c.update(2, r#"{"$set": {"n": 20}}"#);
    assert!(!delete.write(&key).unwrap().matched);
    assert_eq!(field(&c, 2, "n"), Some(20));
}

#[test]
fn one_document_is_the_first_in_order() {
    let db = database();
    let c = numbered(&db, 10);
    let sorted = |sort: &str, action: Action| {
        let request = FindRequest { sort: Some(sort.into_map()), ..FindRequest::new(r#"{"n": {"$gte": 3}}"#) };
        let query = Query::new(request, Variables::NONE).unwrap();
        FilterWrite {
            writer: c.writer(),
            query,
            action,
            upsert: false,
            returned: Some(ReturnDocument::Before),
            as_bson: false,
        }
        .one()
        .unwrap()
    };
    let id = |written: Written| written.document.unwrap().id().as_i64();
    assert_eq!(id(sorted(r#"{"n": 1}"#, update(r#"{"$inc": {"done": 1}}"#))), Some(3));
    assert_eq!(id(sorted(r#"{"n": -1}"#, update(r#"{"$inc": {"done": 1}}"#))), Some(9));
    assert_eq!(id(sorted(r#"{"done": 1, "n": -1}"#, Action::Delete)), Some(8));
    assert_eq!((sum(&c, "done", 10), c.estimated_count()), (2, 9));
}

#[test]
fn the_version_before_or_after_is_returned() {
    let db = database();
    let c = numbered(&db, 3);
    let write = |returned: ReturnDocument| {
        let mut write = c.write_where(r#"{"n": 1}"#, update(r#"{"$inc": {"done": 1}}"#));
        write.returned = Some(returned);
        let document = write.one().unwrap().document.unwrap();
        document.to_map().unwrap().get("done").and_then(Value::as_i64)
    };
    assert_eq!(write(ReturnDocument::Before), Some(0));
    assert_eq!(write(ReturnDocument::After), Some(2));
    // An update that changes nothing matches, and does not modify.
    let result = c.write_where(r#"{"n": {"$gte": 0}}"#, update(r#"{"$max": {"done": 0}}"#)).all().unwrap();
    assert_eq!((result.matched_count, result.modified_count), (3, 0));
}

#[test]
fn an_upsert_inserts_what_filter_and_update_say_and_once() {
    let db = database();
    let c = numbered(&db, 3);
    let upsert = |filter: &str| {
        let mut write = c.write_where(filter, update(r#"{"$inc": {"done": 1}}"#));
        write.upsert = true;
        write.all().unwrap()
    };
    let first = upsert(r#"{"n": 100, "kind": "new"}"#);
    let id = first.upserted_id.expect("an insert");
    let inserted = c.get(id.clone()).unwrap().to_map().unwrap();
    assert_eq!(inserted.get("kind"), Some(&Value::from("new")));
    assert_eq!(inserted.get("done").and_then(Value::as_i64), Some(1));
    // The second upsert finds the document of the first.
    let second = upsert(r#"{"n": 100, "kind": "new"}"#);
    assert_eq!((second.matched_count, second.upserted_id), (1, None));
    assert_eq!(c.get(id).unwrap().to_map().unwrap().get("done").and_then(Value::as_i64), Some(2));
    // The same for a filter on `_id`, in a collection that does not exist.
    let other = db.collection("other");
    let mut by_id = other.write_where(r#"{"_id": 7}"#, update(r#"{"$inc": {"done": 1}}"#));
    by_id.upsert = true;
    assert_eq!(by_id.one().unwrap().upserted_id, Some(Value::from(7)));
    assert!(by_id.one().unwrap().matched);
    assert_eq!(field(&other, 7, "done"), Some(2));
}

/// Two upserts that have both found nothing: the lock on the filter decides which one inserts.
#[test]
fn an_upsert_searches_again_before_it_inserts() {
    let db = database();
    let c = numbered(&db, 3);
    let mut write = c.write_where(r#"{"n": 100}"#, update(r#"{"$inc": {"done": 1}}"#));
    write.upsert = true;
    assert!(write.first().unwrap().is_none());
    c.put(50, r#"{"n": 100, "done": 5}"#);
    assert!(write.insert_unless_found().unwrap().is_none(), "another one has inserted it");
    assert_eq!(c.estimated_count(), 4);
    assert!(write.one().unwrap().matched);
    assert_eq!(field(&c, 50, "done"), Some(6));
}

#[test]
fn a_duplicate_that_the_filter_demands_is_found_and_no_other() {
    let db = database();
    let c = numbered(&db, 3);
    c.create_index(r#"{"name": 1}"#, r#"{"unique": true, "partialFilterExpression": {"name": {"$exists": true}}}"#);
    c.put(10, r#"{"name": "a", "n": -5}"#);
    let refused = |filter: &str, change: &str| {
        let mut write = c.write_where(filter, update(change));
        write.upsert = true;
        let error = write.insert().unwrap_err();
        write.is_duplicate_demanded(&error)
    };
    assert!(refused(r#"{"_id": 10}"#, r#"{"$set": {"n": 1}}"#));
    assert!(refused(r#"{"name": "a"}"#, r#"{"$set": {"n": 1}}"#));
    assert!(!refused(r#"{"n": 77}"#, r#"{"$set": {"name": "a"}}"#), "a search for n finds nothing");
    let mut write = c.write_where(r#"{"n": 77}"#, update(r#"{"$set": {"name": "a"}}"#));
    write.upsert = true;
    assert!(matches!(write.one(), Err(Error::DuplicateIndexKey { .. })), "and it ends");
}

#[test]
fn an_error_reports_what_was_written_before_it() {
    let db = database();
    let c = numbered(&db, 5);
    c.create_index(r#"{"key": 1}"#, r#"{"unique": true, "partialFilterExpression": {"key": {"$exists": true}}}"#);
    let error = c.write_where(r#"{"n": {"$gte": 0}}"#, update(r#"{"$set": {"key": 1}}"#)).all().unwrap_err();
    let Error::WriteMany { matched_count, modified_count, deleted, error } = error else { panic!("{error:?}") };
    assert_eq!((matched_count, modified_count, deleted), (1, 1, false));
    assert!(matches!(*error, Error::DuplicateIndexKey { .. }), "{error:?}");
    assert_eq!(sum(&c, "key", 5), 1, "one document has it, and the others are as before");
}

#[test]
fn a_write_that_is_stopped_ends_between_two_documents() {
    let db = database();
    let c = numbered(&db, 5);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut write = c.write_where(r#"{"n": {"$gte": 0}}"#, Action::Delete);
    write.query.request.limits.stop = Some(stop);
    assert!(write.all().is_err());
    assert_eq!(c.estimated_count(), 5);
    assert_eq!(c.write_where("{}", Action::Delete).all().unwrap().matched_count, 5);
}

/// Writes use the keys that the search returned, for all types of `_id`s.
#[test]
fn documents_of_any_id_are_written() {
    let db = Database::with(Options::default());
    let pets = db.collection("pets");
    let ids = r#"[1, 1.5, -0.5, {"$numberLong": "9007199254740993"}, {"$numberDecimal": "0.1"}, "", "a", "a\u0000b", true,
        null, {"a": {"b": [1]}}, {"$oid": "0123456789abcdef01234567"}, {"$date": "2024-01-01T00:00:00Z"},
        {"$binary": {"base64": "AAEC", "subType": "00"}}, {"$timestamp": {"t": 1, "i": 2}}, {"$minKey": 1}]"#;
    let Value::Array(ids) = alluvium_document::json::parse(ids.as_bytes()).unwrap() else { panic!("an array") };
    for id in &ids {
        pets.put(id.clone(), r#"{"n": 1}"#);
    }
    let updated = pets.write_where(r#"{"n": 1}"#, update(r#"{"$inc": {"n": 1}}"#)).all().unwrap();
    assert_eq!((updated.matched_count, updated.modified_count), (ids.len() as u64, ids.len() as u64));
    for id in &ids {
        let document = pets.get(id.clone()).unwrap();
        assert_eq!(document.to_map().unwrap().get("n"), Some(&Value::Int32(2)), "{id}");
    }
    for left in (0..ids.len()).rev() {
        assert!(pets.write_where(r#"{"n": 2}"#, Action::Delete).one().unwrap().matched, "{left}");
    }
    assert!(!pets.write_where("{}", Action::Delete).one().unwrap().matched);
}

/// A key that cannot be decoded is reported as damage, with the key in the message. The key is not skipped, and not
/// decoded as another `_id`.
#[test]
fn a_key_that_is_none_is_reported() {
    let db = Database::with(Options::default());
    let pets = db.collection("pets");
    pets.put(Value::Null, r#"{"n": 1}"#);
    // A string key without its terminator.
    let (key, row) = (alluvium_document::key::id_key(&Value::from("ab")).unwrap(), row_of(&db));
    let mut batch = db.store().batch();
    batch.put(pets.state().documents, &key[..2], &row);
    db.store().write(batch, Durability::Periodic).unwrap();
    for action in [Action::Delete, update(r#"{"$set": {"n": 2}}"#)] {
        let mut write = pets.write_where("{}", action);
        // The error is returned by the search, and by the write of a key that a search has found without reading the
        // document.
        for error in [write.all().unwrap_err(), write.write(&key[..2]).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            let shown = error.to_string();
            assert!(shown.contains("pets") && shown.contains(&format!("{:02x?}", &key[..2])), "{shown}");
        }
        let null = pets.get(Value::Null).unwrap().to_map().unwrap();
        assert_eq!(null.get("n"), Some(&Value::Int32(1)), "another document was written");
    }
}

/// The stored row of the document with the `_id` null.
fn row_of(db: &Database) -> Vec<u8> {
    let (pets, mut row) = (db.collection("pets"), Vec::new());
    let key = alluvium_document::key::id_key(&Value::Null).unwrap();
    assert!(db.store().get(pets.state().documents, &key, &mut row).unwrap());
    row
}

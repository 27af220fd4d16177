//! The stages that write.

use super::{PipelineRequest, PipelineRun};
use crate::error::{Error, Result};
use crate::names::FullName;
use crate::testing::{Collection, Database};
use alluvium_document::{IntoDocument, Map, Value};
use alluvium_store::{Durability, Options};

/// Runs a pipeline over the collection `from`.
fn run(db: &Database, stages: &str) -> Result<Vec<Map>> {
    let wrapped = format!(r#"{{"stages": {stages}}}"#).as_str().into_map().unwrap();
    let stages = wrapped.get("stages").cloned().unwrap();
    let request = PipelineRequest::new(Ok(stages), Durability::Periodic);
    let name = FullName::parse("from").unwrap();
    let mut run = PipelineRun::new(&db.engine, &name, None, request, false)?;
    let mut found = Vec::new();
    while let Some(document) = run.next_document()? {
        found.push(document.to_map()?);
    }
    Ok(found)
}

fn database() -> Database {
    let db = Database::with(Options::default());
    db.collection("from").insert([r#"{"_id": 1, "n": 10}"#, r#"{"_id": 2, "n": 20}"#, r#"{"_id": 3, "n": 30}"#]);
    db
}

fn target(db: &Database) -> Collection {
    let target = db.collection("to");
    target.insert([r#"{"_id": 2, "n": 2, "old": 1}"#, r#"{"_id": 9, "n": 9, "old": 1}"#]);
    target
}

fn shown(collection: &Collection) -> Vec<String> {
    [1, 2, 3, 9].into_iter().filter_map(|id| Some(collection.get(id)?.to_map().unwrap().to_string())).collect()
}

#[test]
fn out_replaces_a_collection_and_keeps_its_indexes() {
    let db = database();
    let to = target(&db);
    to.create_index(r#"{"n": 1}"#, r#"{"unique": true}"#);
    assert_eq!(run(&db, r#"[{"$match": {"n": {"$gt": 10}}}, {"$out": "to"}]"#).unwrap(), Vec::<Map>::new());
    assert_eq!(shown(&to), [r#"{"_id":2,"n":20}"#, r#"{"_id":3,"n":30}"#]);
    let indexes = to.state().indexes();
    assert!(indexes.find("n_1").is_some_and(|index| index.definition.is_unique()));
}

#[test]
fn out_that_fails_leaves_the_collection() {
    let db = database();
    let to = target(&db);
    to.create_index(r#"{"n": 1}"#, r#"{"unique": true}"#);
    let (before, names) = (shown(&to), db.engine.catalog.list_all());
    let same = r#"[{"$set": {"n": 1}}, {"$out": "to"}]"#;
    let error = run(&db, same).unwrap_err();
    assert!(matches!(&error, Error::DuplicateIndexKey { collection, .. } if collection == "main.to"), "{error:?}");
    assert_eq!(shown(&to), before);
    assert_eq!(db.engine.catalog.list_all(), names, "nothing else is left");
}

#[test]
fn merge_does_what_it_says_with_documents_that_are_there() {
    for (matched, expected) in [
        ("replace", r#"{"_id":2,"n":20}"#),
        ("merge", r#"{"_id":2,"n":20,"old":1}"#),
        ("keepExisting", r#"{"_id":2,"n":2,"old":1}"#),
    ] {
        let db = database();
        let to = target(&db);
        run(&db, &format!(r#"[{{"$merge": {{"into": "to", "whenMatched": "{matched}"}}}}]"#)).unwrap();
        let expected = [r#"{"_id":1,"n":10}"#, expected, r#"{"_id":3,"n":30}"#, r#"{"_id":9,"n":9,"old":1}"#];
        assert_eq!(shown(&to), expected, "{matched}");
    }
    let db = database();
    let to = target(&db);
    let sum = r#"[{"$merge": {"into": "to", "whenMatched": [{"$set": {"sum": {"$add": ["$n", "$$new.n"]}}}]}}]"#;
    run(&db, sum).unwrap();
    assert_eq!(shown(&to)[1], r#"{"_id":2,"n":2,"old":1,"sum":22}"#);
    // The documents after a document that cannot be written are written, and then the stage fails.
    let db = database();
    let to = target(&db);
    let failed = run(&db, r#"[{"$sort": {"_id": 1}}, {"$merge": {"into": "to", "whenMatched": "fail"}}]"#);
    assert!(matches!(failed, Err(Error::DuplicateKey { .. })), "{failed:?}");
    assert_eq!(shown(&to).len(), 4);
    assert_eq!(shown(&to)[1], r#"{"_id":2,"n":2,"old":1}"#);
}

#[test]
fn merge_does_what_it_says_with_documents_that_are_not() {
    let merge = |not_matched: &str| format!(r#"[{{"$merge": {{"into": "to", "whenNotMatched": "{not_matched}"}}}}]"#);
    for (not_matched, expected) in [("insert", 4), ("discard", 2)] {
        let db = database();
        let to = target(&db);
        run(&db, &merge(not_matched)).unwrap();
        assert_eq!(shown(&to).len(), expected, "{not_matched}");
    }
    let db = database();
    let to = target(&db);
    assert!(run(&db, &merge("fail")).is_err());
    assert_eq!(shown(&to).len(), 2);
}

#[test]
fn merge_finds_documents_by_a_unique_index() {
    let db = database();
    let to = target(&db);
    let by = |field: &str| {
        let stages = r#"[{"$match": {"_id": 2}}, {"$project": {"_id": 0, "old": {"$literal": 1}, "m": "$n", "n": {"$literal": 9}}},
            {"$merge": {"into": "to", "on": "FIELD"}}]"#;
        run(&db, &stages.replace("FIELD", field))
    };
    assert!(by("n").is_err(), "without a unique index");
    to.create_index(r#"{"n": 1}"#, r#"{"unique": true}"#);
    by("n").unwrap();
    let changed = to.get(9).unwrap().to_map().unwrap();
    assert_eq!(changed.get("m").and_then(Value::as_i64), Some(20), "{changed}");
    assert_eq!(shown(&to).len(), 2);
}

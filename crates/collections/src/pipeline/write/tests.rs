//! `$out`, with changes of its target that are acknowledged while the stage runs.

use super::*;
use crate::limits::CappedLimits;
use crate::options::CollectionOptions;
use crate::testing::{Database, count};
use alluvium_document::IntoDocument;
use alluvium_query::expression::Variables;
use alluvium_query::index::Definition;
use alluvium_query::validator::Validator;
use alluvium_store::Options;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Replaces the collection `pets` by one document; `change` is called before the documents end.
fn out_during(db: &Database, change: impl FnOnce()) -> Result<()> {
    let logical = db.collection("pets").name.logical;
    let durability = Durability::Periodic;
    let limits = Limits::default();
    let to = Destination { engine: &db.engine, logical: &logical, durability, validates: true, limits: &limits };
    let output = Output { database: None, collection: "pets".into() };
    let (mut change, mut first) = (Some(change), Some(Record::Map(Map::from([("_id", Value::Int32(9))]))));
    out(&to, &output, &mut || {
        let next = first.take();
        if let Some(change) = change.take_if(|_| next.is_none()) {
            change();
        }
        Ok(next)
    })
}

fn index(keys: &str, options: &str) -> Definition {
    Definition::parse(&keys.into_map().unwrap(), &options.into_map().unwrap()).unwrap()
}

/// A database with a collection, an index and three documents.
fn filled() -> Database {
    let db = Database::with(Options::default());
    let pets = db.collection("pets");
    for id in 1..=3 {
        pets.put(id, format!(r#"{{"kind": {id}}}"#));
    }
    pets.create_index(r#"{"kind": 1}"#, "{}");
    db
}

/// The state of a collection: its options, its indexes, and the number of its documents.
fn described(db: &Database, name: &FullName) -> Option<(Map, Vec<String>, usize)> {
    let state = db.engine.catalog.find(name).unwrap()?;
    let set = state.indexes();
    let names = set.indexes.iter().map(|index| index.definition.to_map().to_string()).collect();
    let documents = count(db.collection(&name.to_string()).find(FindRequest::new("{}")));
    Some((set.options.to_map(), names, documents))
}

#[test]
fn a_change_of_the_target_fails_the_out_and_stays() {
    type Change = fn(&Database, &FullName);
    let changes: [(&str, Change); 9] = [
        ("create an index", |db, pets| drop(db.engine.catalog.add_index(pets, index(r#"{"age": 1}"#, "{}")).unwrap())),
        ("create a unique index", |db, pets| {
            drop(db.engine.catalog.add_index(pets, index(r#"{"age": 1}"#, r#"{"unique": true}"#)).unwrap());
        }),
        ("drop an index", |db, pets| db.engine.catalog.drop_indexes(pets, Some("kind_1")).unwrap()),
        ("hide an index", |db, pets| {
            let change = indexes::IndexChange { hidden: Some(true), ..Default::default() };
            indexes::change_index(&db.engine, pets, "kind_1".into(), change).unwrap();
        }),
        ("set a validator", |db, pets| {
            let options = r#"{"validator": {"kind": 1}}"#.into_map().unwrap();
            let validator = Validator::from_options(&options).unwrap();
            db.engine.catalog.change_options(pets, |options| options.validator = validator).unwrap();
        }),
        ("make it capped", |db, pets| {
            let limits = CappedLimits { size_bytes: 4096, documents: None };
            crate::capped::convert(&db.engine, pets, limits, Durability::Periodic, Limits::default()).unwrap();
        }),
        ("drop it", |db, pets| db.engine.catalog.drop(pets).unwrap()),
        ("rename it", |db, pets| {
            db.engine.catalog.rename(pets, &FullName::parse("others").unwrap()).unwrap();
        }),
        ("drop it and create it again", |db, pets| {
            db.engine.catalog.drop(pets).unwrap();
            db.engine.catalog.create(pets, CollectionOptions::default()).unwrap();
        }),
    ];
    let pets = FullName::parse("pets").unwrap();
    for (what, change) in changes {
        let db = filled();
        let mut after = None;
        let error = out_during(&db, || {
            change(&db, &pets);
            after = Some((db.engine.catalog.list(), described(&db, &pets)));
        });
        let error = error.expect_err(what);
        assert_eq!(error.code(), Some((125, "CommandFailed")), "{what}: {error}");
        assert_eq!(Some((db.engine.catalog.list_all(), described(&db, &pets))), after, "{what}");
    }
}

#[test]
fn a_target_that_is_created_concurrently_fails_the_out() {
    let db = Database::with(Options::default());
    let pets = db.collection("pets");
    let error = out_during(&db, || pets.put(1, r#"{"kind": 1}"#)).expect_err("the target exists now");
    assert_eq!(error.code(), Some((125, "CommandFailed")), "{error}");
    assert_eq!(described(&db, &pets.name).map(|found| found.2), Some(1));
    assert_eq!(db.engine.catalog.list_all().len(), 1);
}

#[test]
fn writes_of_documents_do_not_fail_it() {
    let db = filled();
    let pets = db.collection("pets");
    out_during(&db, || pets.put(4, r#"{"kind": [1, 2]}"#)).unwrap();
    let (options, indexes, count) = described(&db, &pets.name).unwrap();
    assert_eq!((options.len(), indexes.len(), count), (0, 1, 1));
}

/// `$merge` looks up the document to change by a separate query, which has the limits of the pipeline, too.
#[test]
fn the_look_ups_of_a_merge_end_with_its_limits() {
    let db = filled();
    let pets = db.collection("pets");
    db.engine.catalog.drop_indexes(&pets.name, Some("kind_1")).unwrap();
    pets.create_index(r#"{"kind": 1}"#, r#"{"unique": true}"#);
    let into = MergeInto {
        into: Output { database: None, collection: "pets".into() },
        on: vec!["kind".parse().unwrap()],
        matched: WhenMatched::Merge,
        not_matched: WhenNotMatched::Insert,
        around: Variables::NONE,
    };
    let run = |is_stopped: bool| {
        let mut limits = Limits::default();
        limits.stop = Some(Arc::new(AtomicBool::new(is_stopped)));
        let (engine, logical) = (&db.engine, &*pets.name.logical);
        let to = Destination { engine, logical, durability: Durability::Periodic, validates: true, limits: &limits };
        let mut first = Some(Record::Map(Map::from([("kind", Value::Int32(2)), ("seen", Value::Bool(true))])));
        merge(&to, &into, &mut || Ok(first.take()))
    };
    let seen = || count(pets.find(FindRequest::new(r#"{"seen": true}"#)));
    assert!(matches!(run(true), Err(Error::Stopped)));
    assert_eq!(seen(), 0);
    run(false).unwrap();
    assert_eq!(seen(), 1);
}

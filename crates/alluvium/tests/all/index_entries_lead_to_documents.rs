//! After every write, even a blind one, the entries of an index lead exactly to the current documents.

use alluvium::{Collection, Database, Map, Value};
use alluvium_query::index::Definition;
use alluvium_testkit::IndexEntries;
use proptest::prelude::*;
use std::path::Path;

const INDEXES: &[(&str, &str)] = &[
    (r#"{"a": 1}"#, "{}"),
    (r#"{"b": -1, "a": 1}"#, "{}"),
    (r#"{"b": 1}"#, r#"{"sparse": true, "name": "sparse"}"#),
    (r#"{"a": -1}"#, r#"{"partialFilterExpression": {"b": {"$gt": 2}}, "name": "partial"}"#),
    (r#"{"b": "hashed"}"#, "{}"),
    (r#"{"a.x": 1}"#, "{}"),
];

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Value, Option<i32>),
    Delete(u8),
    DeleteOne(u8),
    Apply(u8, &'static str),
    Update(u8, &'static str),
    Batch(Vec<(u8, Option<Value>)>),
    BatchApply(u8, Value, &'static str),
    Create(usize),
    Drop(usize),
    Flush,
    Compact,
    Sweep,
    Reopen,
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4i32).prop_map(Value::from),
        (0..4i32).prop_map(|n| Value::from(f64::from(n))),
        proptest::collection::vec(0..3i32, 0..3).prop_map(|n| Value::Array(n.into_iter().map(Value::from).collect())),
        proptest::collection::vec(0..3i32, 1..3).prop_map(|n| n.into_iter().map(|n| Map::from([("x", n)])).collect()),
        Just(Value::Null),
        Just(Value::from("x")),
    ]
}

fn update() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#"{"$inc": {"a": 1}}"#,
        r#"{"$set": {"a": 2}}"#,
        r#"{"$set": {"b": 3}}"#,
        r#"{"$unset": {"b": 1}}"#,
        r#"{"$set": {"c": 1}}"#,
        r#"{"$inc": {"c": 1}}"#,
        r#"{"$push": {"a": 3}}"#,
        r#"{"$set": {"a.0": 9}}"#,
        r#"{"$set": {"a.3.y": 9}}"#,
        r#"{"$set": {"a.$[].y": 9}}"#,
        r#"{"$unset": {"a.$[].x": 9}}"#,
        r#"{"$pull": {"a": {"x": {"$gt": 1}}}}"#,
    ])
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..6u8;
    prop_oneof![
        6 => (id.clone(), value(), proptest::option::of(0..5i32)).prop_map(|(id, a, b)| Step::Put(id, a, b)),
        2 => id.clone().prop_map(Step::Delete),
        1 => id.clone().prop_map(Step::DeleteOne),
        4 => (id.clone(), update()).prop_map(|(id, update)| Step::Apply(id, update)),
        3 => (id.clone(), update()).prop_map(|(id, update)| Step::Update(id, update)),
        2 => proptest::collection::vec((id.clone(), proptest::option::of(value())), 1..6).prop_map(Step::Batch),
        2 => (id, value(), update()).prop_map(|(id, a, update)| Step::BatchApply(id, a, update)),
        2 => (0..INDEXES.len()).prop_map(Step::Create),
        1 => (0..INDEXES.len()).prop_map(Step::Drop),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        2 => Just(Step::Sweep),
        1 => Just(Step::Reopen),
    ]
}

fn open(env: &alluvium_env::Env) -> Database {
    Database::builder().env(env.clone()).partitions(2).open(Path::new("db")).unwrap()
}

fn definition(at: usize) -> Definition {
    let map = |text: &str| alluvium_document::json::parse(text.as_bytes()).unwrap().as_map().unwrap().clone();
    Definition::parse(&map(INDEXES[at].0), &map(INDEXES[at].1)).unwrap()
}

/// The expected entries: all keys of all documents, with the keys of their `_id`s.
fn expected(documents: &[Map], index: &Definition) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    for document in documents {
        let id = alluvium_document::key::id_key(document.get("_id").unwrap()).unwrap();
        found.extend(index.keys(document).unwrap().keys.into_iter().map(|key| (key.bytes, id.clone())));
    }
    found.sort();
    found
}

fn check(db: &Database, pets: &Collection, snapshots: &[alluvium::Snapshot]) {
    let now = [db.snapshot()];
    for snapshot in snapshots.iter().chain(&now) {
        let Ok(scan) = pets.at(snapshot).scan().run() else { continue };
        let documents: Vec<Map> = scan.map(|document| document.unwrap().to_map().unwrap()).collect();
        for at in 0..INDEXES.len() {
            let index = definition(at);
            let Ok(found) = pets.index_entries(snapshot, index.name(), false) else { continue };
            assert_eq!(found, expected(&documents, &index), "the index {}", index.name());
        }
    }
}

fn by_id(id: u8) -> Map {
    Map::from([("_id", i32::from(id))])
}

fn run(steps: Vec<Step>) {
    let env = alluvium_env::Env::in_memory(7);
    let mut db = open(&env);
    let mut pets = db.collection("pets");
    pets.put(100, r#"{"a": 1}"#).unwrap();
    let mut snapshots = Vec::new();
    // The entries are compared with the documents that the library itself reads. A separate model
    // of the documents would test more than the indexes.
    for (at, step) in steps.into_iter().enumerate() {
        if at % 7 == 3 {
            snapshots.push(db.snapshot());
        }
        match step {
            Step::Put(id, a, b) => {
                let mut map = Map::from([("a", a)]);
                if let Some(b) = b {
                    map.insert("b", b);
                }
                pets.put(i32::from(id), map).unwrap();
            }
            Step::Delete(id) => pets.delete(i32::from(id)).unwrap(),
            Step::DeleteOne(id) => drop(pets.delete_one(by_id(id)).run().unwrap()),
            Step::Apply(id, update) => pets.update_blind(i32::from(id), update).unwrap(),
            Step::Update(id, update) => drop(pets.update_one(by_id(id), update).run()),
            Step::Batch(operations) => {
                let mut batch = db.write_batch();
                for (id, a) in operations {
                    match a {
                        Some(a) => batch.put(&pets, i32::from(id), Map::from([("a", a)])).unwrap(),
                        None => batch.delete(&pets, i32::from(id)).unwrap(),
                    }
                }
                batch.commit().unwrap();
            }
            Step::BatchApply(id, a, update) => {
                let mut batch = db.write_batch();
                batch.update_blind(&pets, i32::from(id), update).unwrap();
                batch.put(&pets, 50 + i32::from(id), Map::from([("a", a)])).unwrap();
                batch.update_blind(&pets, 50 + i32::from(id), update).unwrap();
                batch.commit().unwrap();
            }
            Step::Create(at) => drop(pets.create_index(INDEXES[at].0).options(INDEXES[at].1).run().unwrap()),
            Step::Drop(at) => drop(pets.drop_index(definition(at).name())),
            Step::Flush => db.flush().unwrap(),
            Step::Compact => db.compact().run().unwrap(),
            Step::Sweep => {
                db.flush().unwrap();
                db.sweep_indexes().unwrap();
            }
            Step::Reopen => {
                snapshots.clear();
                db.close().unwrap();
                db = open(&env);
                pets = db.collection("pets");
            }
        }
        check(&db, &pets, &snapshots);
    }
    assert_eq!(db.verify().run().unwrap().damage.len(), 0);
    snapshots.clear();
    db.flush().unwrap();
    db.sweep_indexes().unwrap();
    let now = db.snapshot();
    for index in pets.indexes().unwrap().iter().skip(1) {
        let entries = |raw| pets.index_entries(&now, &index.name, raw).unwrap();
        let raw: Vec<_> = entries(true);
        assert_eq!(raw, entries(false), "a sweep leaves no stale entry in {}", index.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn index_entries_lead_to_documents(steps in proptest::collection::vec(step(), 1..50)) {
        run(steps);
    }
}

#[test]
fn a_stale_entry_is_there_and_is_not_shown() {
    let env = alluvium_env::Env::in_memory(7);
    let db = open(&env);
    let pets = db.collection("pets");
    pets.create_index(r#"{"a": 1}"#).run().unwrap();
    for a in [1, 2, 1] {
        pets.put(1, Map::from([("a", a)])).unwrap();
    }
    pets.put(2, Map::from([("a", 1)])).unwrap();
    pets.delete(2).unwrap();
    let entries = |raw| pets.index_entries(&db.snapshot(), "a_1", raw).unwrap().len();
    assert_eq!((entries(true), entries(false)), (3, 1));
    let before = db.snapshot();
    pets.put(1, Map::from([("a", 5)])).unwrap();
    db.flush().unwrap();
    assert_eq!(db.sweep_indexes().unwrap(), 0, "what a snapshot may read stays");
    assert_eq!(pets.index_entries(&before, "a_1", false).unwrap().len(), 1);
    drop(before);
    assert_eq!(db.sweep_indexes().unwrap(), 3);
    assert_eq!((entries(true), entries(false)), (1, 1));
}

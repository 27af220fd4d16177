//! Random pipelines over random documents give the same results as a second evaluator that has no plans, rows or files.
//! The indexes vary, the documents are in memory or in files, and other threads write during a read at a snapshot.

use crate::naive::{self, Pipeline, documents, pipeline};
use alluvium::{Database, Map, Value, doc};
use alluvium_document::value::Regex;
use alluvium_store::{Options, Tuning};
use proptest::prelude::*;
use std::path::Path;

/// A result as text. The documents that a `$lookup` finds are sorted, since they have no order.
fn text(mut map: Map) -> String {
    if let Some(Value::Array(found)) = map.get_mut("l") {
        found.sort_by_key(Value::to_string);
    }
    Value::Map(map).to_string()
}

/// Results as texts; sorted unless they have an order.
fn texts(maps: Vec<Map>, ordered: bool) -> Vec<String> {
    let mut texts: Vec<String> = maps.into_iter().map(text).collect();
    if !ordered {
        texts.sort();
    }
    texts
}

fn found(db: &Database, at: &alluvium::Snapshot, stages: &[Map]) -> Result<Vec<Map>, String> {
    let cursor = db.collection("c").aggregate(stages).at(at).run().map_err(|error| error.to_string())?;
    cursor.map(|document| Ok(document.map_err(|error| error.to_string())?.to_map().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn pipelines_give_what_a_naive_evaluator_gives(
        c in documents(40),
        d in documents(20),
        pipelines in proptest::collection::vec(pipeline(), 1..8),
        indexes in proptest::collection::vec(prop::sample::select(vec!["a", "k", "b.c"]), 0..3),
        in_files in any::<bool>(),
    ) {
        let tuning = Tuning { gather_bytes: in_files.then_some(1), ..Tuning::default() };
        let options = Options { tuning, partitions: Some(3), ..Options::default() };
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).options(options).open(Path::new("db")).unwrap();
        for (name, documents) in [("c", &c), ("d", &d)] {
            let collection = db.create_collection(name).run().unwrap();
            collection.insert_many(documents.clone()).unwrap();
            for index in &indexes {
                collection.create_index(Map::from([(*index, 1)])).run().unwrap();
            }
        }
        let snapshot = db.snapshot();
        // The snapshot does not see these writes.
        db.collection("c").insert_one(r#"{"_id": 1000, "k": "late", "a": 5}"#).unwrap();
        db.collection("d").delete_many("{}").run().unwrap();
        for Pipeline { stages, ordered } in &pipelines {
            let expected = naive::run(&c, &d, stages);
            let got = found(&db, &snapshot, stages);
            let shown: Vec<String> = stages.iter().map(|stage| Value::Map(stage.clone()).to_string()).collect();
            let got = got.unwrap_or_else(|error| panic!("[{}]: {error}", shown.join(", ")));
            prop_assert_eq!(texts(got, *ordered), texts(expected, *ordered), "[{}]", shown.join(", "));
        }
    }
}

/// A value of one of the kinds that a `$lookup` treats differently.
fn any_single() -> impl Strategy<Value = Value> {
    let text = |text: &str| Value::from(text);
    let pattern = Regex { pattern: "x".to_owned(), options: String::new() };
    prop_oneof![
        6 => (0..6i32).prop_map(Value::Int32),
        2 => (0..6i32).prop_map(|n| Value::from(f64::from(n))),
        1 => (0..6i64).prop_map(Value::Int64),
        4 => prop::sample::select(vec![text("x"), text("X"), text("y"), text(&"long".repeat(700))]),
        1 => prop::sample::select(vec![Value::Null, Value::Undefined, Value::MaxKey, Value::from(f64::NAN)]),
        1 => prop::sample::select(vec![Value::Regex(Box::new(pattern)), Value::Bool(true), Value::Symbol("x".into())]),
        1 => prop::sample::select(vec![Value::Map(doc! {"v": 1}), Value::DateTime(1), Value::from(-0.0)]),
    ]
}

fn any_value() -> impl Strategy<Value = Option<Value>> {
    let array = || proptest::collection::vec(any_single(), 0..4).prop_map(Value::Array);
    let inner = proptest::collection::vec(any_single(), 0..3).prop_map(|v| Value::Array(vec![Value::Array(v)]));
    let maps = proptest::collection::vec(any_single(), 0..3)
        .prop_map(|values| values.into_iter().map(|value| Value::Map(Map::from([("v", value)]))).collect::<Value>());
    prop_oneof![
        6 => any_single().prop_map(Some),
        3 => array().prop_map(Some),
        1 => prop_oneof![inner, maps].prop_map(Some),
        1 => Just(None),
    ]
}

type Joined = (Option<Value>, Option<i32>, Vec<i32>);

fn joined(most: usize) -> impl Strategy<Value = Vec<Map>> {
    let fields = (any_value(), proptest::option::of(0..3i32), proptest::collection::vec(0..4i32, 0..3));
    proptest::collection::vec(fields, 0..most).prop_map(|all| {
        let document = |(id, (v, w, many)): (usize, Joined)| {
            let text = [(7, "x"), (8, "X"), (9, "y")].iter().find(|(at, _)| *at == id).map(|(_, text)| *text);
            let mut map = Map::from([("_id", text.map_or(Value::Int32(id as i32), Value::from))]);
            v.into_iter().for_each(|v| map.push("v", v));
            w.into_iter().for_each(|w| map.push("w", w));
            map.push("many", Value::Array(many.into_iter().map(Value::Int32).collect()));
            map
        };
        all.into_iter().enumerate().map(document).collect()
    })
}

/// Keys and options of an index.
const INDEXES: [(&str, &str); 11] = [
    (r#"{"v":1}"#, "{}"),
    (r#"{"v":-1}"#, "{}"),
    (r#"{"v":1,"w":1}"#, "{}"),
    (r#"{"v":-1,"many":1}"#, "{}"),
    (r#"{"v.v":1}"#, "{}"),
    (r#"{"v":"hashed"}"#, "{}"),
    (r#"{"w":1,"v":1}"#, "{}"),
    (r#"{"v":1}"#, r#"{"sparse":true}"#),
    (r#"{"v":1}"#, r#"{"partialFilterExpression":{"v":{"$exists":true}}}"#),
    (r#"{"v":1}"#, r#"{"partialFilterExpression":{"v":{"$gt":2}}}"#),
    (r#"{"v":1}"#, r#"{"collation":{"locale":"en","strength":2}}"#),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// A `$lookup` with a pipeline looks up each document alone, so its results are those of single look-ups.
    #[test]
    fn batches_of_a_lookup_give_what_single_look_ups_give(
        c in joined(60),
        d in joined(60),
        index in prop::sample::select(INDEXES.to_vec()),
        fields in prop::sample::select(vec![("v", "v"), ("v", "_id"), ("_id", "v"), ("v.v", "v"), ("v", "v.v"), ("v", "v.0")]),
        folds in any::<bool>(),
        bytes in prop::sample::select(vec![None, None, Some(6000), Some(1000)]),
    ) {
        let tuning = Tuning { gather_bytes: bytes, ..Tuning::default() };
        let options = Options { tuning, partitions: Some(2), ..Options::default() };
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).options(options).open(Path::new("db")).unwrap();
        db.create_collection("c").run().unwrap().insert_many(c.clone()).unwrap();
        let other = db.create_collection("d").run().unwrap();
        other.create_index(index.0).options(index.1).run().unwrap();
        // The index may refuse some of the documents.
        d.into_iter().for_each(|document| drop(other.insert_one(document)));
        let run = |pipeline: &str| {
            let (local, foreign) = fields;
            let stages = format!(
                r#"[{{"$sort":{{"_id":1}}}},{{"$lookup":{{"from":"d","localField":"{local}","foreignField":"{foreign}","as":"l"{pipeline}}}}}]"#
            );
            let mut request = db.collection("c").aggregate(&stages);
            if folds {
                request = request.collation(r#"{"locale":"en","strength":2}"#);
            }
            let found = request.run().unwrap().map(|document| document.unwrap().to_map().unwrap());
            texts(found.collect(), true)
        };
        let batched = run("");
        prop_assert_eq!(batched.len(), c.len());
        prop_assert_eq!(batched, run(r#","pipeline":[{"$match":{}}]"#));
    }
}

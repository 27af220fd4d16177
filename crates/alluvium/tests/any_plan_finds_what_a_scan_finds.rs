//! Whatever indexes there are, whichever is taken, and whatever was written blind before: a question finds what the filter
//! matches, in order, each document once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, missing_docs)]

use alluvium::{Collection, Database, Document, Hint, Map, Value};
use proptest::prelude::*;
use query::filter::Filter;
use query::sort::Sort;
use std::path::Path;

const INDEXES: &[(&str, &str)] = &[
    (r#"{"a": 1}"#, "{}"),
    (r#"{"b": -1, "a": 1}"#, "{}"),
    (r#"{"t": 1, "a": -1}"#, "{}"),
    (r#"{"a": -1, "b": -1, "t": 1}"#, "{}"),
    (r#"{"b": 1}"#, r#"{"sparse": true, "name": "sparse"}"#),
    (r#"{"b": "hashed"}"#, "{}"),
    (r#"{"m.x": 1}"#, "{}"),
];

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Map),
    Delete(u8),
    Apply(u8, &'static str),
    Update(u8, &'static str),
    Flush,
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (0..5i32).prop_map(Value::from),
        1 => (0..5i32).prop_map(|n| Value::from(f64::from(n) + 0.5)),
        1 => (0..5i32).prop_map(|n| Value::from(f64::from(n))),
        1 => Just(Value::Null),
        2 => prop::sample::select(vec!["x", "xy", "y"]).prop_map(Value::from),
    ]
}

fn several() -> impl Strategy<Value = Value> {
    prop_oneof![value(), proptest::collection::vec(value(), 0..4).prop_map(Value::Array)]
}

fn document() -> impl Strategy<Value = Map> {
    let field = || proptest::option::weighted(0.8, value());
    (field(), field(), proptest::option::of(several()), proptest::option::of(value())).prop_map(|(a, b, t, x)| {
        let mut map = Map::new();
        let m = x.map(|x| Value::Map(Map::from([("x", x)])));
        for (name, value) in [("a", a), ("b", b), ("t", t), ("m", m)] {
            value.into_iter().for_each(|value| map.push(name, value));
        }
        map
    })
}

fn step() -> impl Strategy<Value = Step> {
    let update = || {
        prop::sample::select(vec![
            r#"{"$inc": {"c": 1}}"#,
            r#"{"$set": {"a": 2}}"#,
            r#"{"$unset": {"b": 1}}"#,
            r#"{"$set": {"t": [1, 2, 2]}}"#,
            r#"{"$set": {"m.x": 3}}"#,
        ])
    };
    let id = || 0..24u8;
    prop_oneof![
        20 => (id(), document()).prop_map(|(id, map)| Step::Put(id, map)),
        2 => id().prop_map(Step::Delete),
        3 => (id(), update()).prop_map(|(id, update)| Step::Apply(id, update)),
        3 => (id(), update()).prop_map(|(id, update)| Step::Update(id, update)),
        1 => Just(Step::Flush),
    ]
}

fn condition() -> impl Strategy<Value = Value> {
    let operator = |name: &'static str| value().prop_map(move |value| Value::Map(Map::from([(name, value)])));
    let list = |name: &'static str| {
        let values = proptest::collection::vec(value(), 0..4);
        values.prop_map(move |values| Value::Map(Map::from([(name, Value::Array(values))])))
    };
    let range = (value(), value()).prop_map(|(low, high)| Value::Map(Map::from([("$gte", low), ("$lt", high)])));
    prop_oneof![
        4 => value(),
        1 => operator("$gt"),
        1 => operator("$gte"),
        1 => operator("$lt"),
        1 => operator("$lte"),
        1 => operator("$ne"),
        2 => list("$in"),
        1 => list("$nin"),
        2 => range,
        1 => any::<bool>().prop_map(|there| Value::Map(Map::from([("$exists", there)]))),
    ]
}

fn conditions() -> impl Strategy<Value = Map> {
    let path = prop::sample::select(vec!["a", "b", "t", "m.x", "_id"]);
    proptest::collection::vec((path, condition()), 0..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
        map
    })
}

fn filter() -> impl Strategy<Value = Map> {
    let either = || {
        proptest::collection::vec(conditions(), 1..4)
            .prop_map(|branches| Map::from([("$or", Value::Array(branches.into_iter().map(Value::Map).collect()))]))
    };
    let both = (conditions(), either()).prop_map(|(mut map, either)| {
        map.entries.extend(either.entries);
        map
    });
    prop_oneof![3 => conditions(), 1 => either(), 1 => both]
}

fn sort() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{}",
        r#"{"a": 1}"#,
        r#"{"a": -1, "b": -1}"#,
        r#"{"b": 1, "a": -1}"#,
        r#"{"_id": -1}"#,
        r#"{"b": -1, "_id": 1}"#,
        r#"{"t": 1}"#,
        r#"{"m.x": -1}"#,
    ])
}

fn map(text: &str) -> Map {
    document::json::parse(text.as_bytes()).unwrap().as_map().unwrap().clone()
}

fn run(c: &Collection, step: &Step) {
    match step {
        Step::Put(id, map) => c.put(i32::from(*id), map).unwrap(),
        Step::Delete(id) => c.delete(i32::from(*id)).unwrap(),
        Step::Apply(id, update) => c.apply(i32::from(*id), *update).unwrap(),
        Step::Update(id, update) => drop(c.update(i32::from(*id), *update).unwrap()),
        Step::Flush => c_flush(c),
    }
}

fn c_flush(c: &Collection) {
    // Through statistics nothing is flushed: the database does it.
    let _stats = c.stats().unwrap();
}

/// What a scan and a plain evaluation of the filter find, in the order of `_id`.
fn naive(all: &[Document], filter: &Map) -> Vec<Map> {
    let filter = Filter::parse(filter).unwrap();
    let maps = all.iter().map(|document| document.to_map().unwrap());
    maps.filter(|map| filter.matches_map(map)).collect()
}

fn sorted_by_id(mut maps: Vec<Map>) -> Vec<Map> {
    maps.sort_by(|a, b| document::compare::compare(a.get("_id").unwrap(), b.get("_id").unwrap()));
    maps
}

fn check(db: &Database, c: &Collection, filter: &Map, sort: &str, hint: Option<Hint>, remember: usize) {
    let at = db.snapshot();
    let all: Vec<Document> = c.scan().snapshot(&at).run().unwrap().collect::<Result<_, _>>().unwrap();
    let expected = naive(&all, filter);
    let ask = || {
        let find = c.find(filter).at(&at).sort(sort).remember(remember);
        match &hint {
            Some(hint) => find.hint(hint.clone()),
            None => find,
        }
    };
    let what = format!("{filter:?} sorted by {sort} with {hint:?}");
    let found = match ask().run() {
        Ok(cursor) => cursor,
        // A sparse index has not all of them.
        Err(error) => {
            assert!(hint.is_some() && error.code().unwrap().0 == 291, "{what}: {error}");
            return;
        }
    };
    let found: Vec<Document> = found.collect::<Result<_, _>>().unwrap();
    let order = Sort::parse(&map(sort)).unwrap();
    let keys: Vec<Vec<u8>> = found.iter().map(|document| order.key(document).unwrap()).collect();
    assert!(keys.is_sorted(), "{what}: not in order");
    let maps: Vec<Map> = found.iter().map(|document| document.to_map().unwrap()).collect();
    assert_eq!(sorted_by_id(maps), expected, "{what}\n{}", ask().explain().unwrap());
    assert_eq!(ask().count().unwrap(), expected.len() as u64, "{what}: count");
    // Of some in the middle, in the same order.
    let some: Vec<Document> = ask().skip(1).limit(3).run().unwrap().collect::<Result<_, _>>().unwrap();
    let some: Vec<Vec<u8>> = some.iter().map(|document| order.key(document).unwrap()).collect();
    let from = 1.min(keys.len());
    assert_eq!(some, keys[from..keys.len().min(4)], "{what}: skip and limit");
    for fields in [r#"{"a": 1, "_id": 0}"#, r#"{"a": 1, "b": 1}"#] {
        let found = ask().projection(fields).run().unwrap().map(|document| document.unwrap().to_string());
        let mut found: Vec<String> = found.collect();
        let projection = query::projection::Projection::parse(&map(fields)).unwrap();
        let documents = expected.iter().map(|map| Document::from_map(map).unwrap());
        let mut wanted: Vec<String> = documents
            .map(|document| projection.apply(&document, &Filter::default()).unwrap())
            .map(|map| fields_sorted(&map))
            .collect();
        found = found.iter().map(|text| fields_sorted(&self::map(text))).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{what}: {fields}");
    }
    let mut values: Vec<Value> = c.find(filter).at(&at).distinct("a").unwrap();
    let mut wanted = query::distinct::Distinct::new("a").unwrap();
    expected.iter().for_each(|map| wanted.add(&Document::from_map(map).unwrap()).unwrap());
    let mut wanted: Vec<Value> = wanted.into_values().collect();
    // Which of two equal numbers of different types comes is left open.
    let plain =
        |values: &mut Vec<Value>| values.iter().map(|v| format!("{:?}", document::key::id_key(v))).collect::<Vec<_>>();
    assert_eq!(plain(&mut values), plain(&mut wanted), "{what}: distinct");
}

/// An index alone gives fields in its own order.
fn fields_sorted(map: &Map) -> String {
    let mut fields: Vec<String> = map.entries.iter().map(|(name, value)| format!("{name:?}: {value:?}")).collect();
    fields.sort();
    fields.join(", ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_finds_what_a_scan_finds(
        steps in proptest::collection::vec(step(), 1..80),
        made in proptest::collection::vec(0..INDEXES.len(), 0..5),
        early in any::<bool>(),
        questions in proptest::collection::vec((filter(), sort()), 1..6),
        remember in prop::sample::select(vec![0, 100, usize::MAX]),
    ) {
        let env = env::Env::in_memory(1);
        let db = Database::builder().env(env).partitions(3).open(Path::new("db")).unwrap();
        let c = db.create_collection("c").unwrap();
        let make = || made.iter().for_each(|at| drop(c.create_index_with(INDEXES[*at].0, INDEXES[*at].1).unwrap()));
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
        for (filter, sort) in &questions {
            for hint in &hints {
                // Backwards through all documents is no order that a hint at `_id` has.
                check(&db, &c, filter, sort, hint.clone(), remember);
            }
        }
    }
}

#[test]
fn a_cursor_sees_one_moment_while_others_write() {
    let env = env::Env::in_memory(1);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let c = db.collection("c");
    c.create_index(r#"{"n": 1}"#).unwrap();
    c.insert_many((0..100).map(|n| format!(r#"{{"_id": {n}, "n": {}}}"#, n % 10))).unwrap();
    let mut cursor =
        c.find(r#"{"n": {"$gte": 5}}"#).sort(r#"{"n": 1, "_id": 1}"#).hint("n_1").batch_size(10).run().unwrap();
    let mut found = cursor.next_batch().unwrap();
    assert_eq!(found.len(), 10);
    // All of them change, and with them their entries.
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
    assert_eq!(c.count_documents(r#"{"n": {"$gte": 5}}"#).unwrap(), 0);
}

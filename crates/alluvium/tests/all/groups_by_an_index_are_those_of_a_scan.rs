//! Groups that are counted from the entries of an index are those of the documents: after puts, updates, deletes,
//! flushes and merges, at present and at an older snapshot.

use crate::queries::{all_at, map};
use alluvium::{Collection, Database, Document, Map, Snapshot, Value};
use alluvium_query::expression::Variables;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{Groups, Pipeline, RecordRef, Stage};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const INDEXES: [&str; 4] = [r#"{"a": 1}"#, r#"{"a": -1, "b": 1}"#, r#"{"b": 1, "a": 1}"#, r#"{"a": 1, "t": 1}"#];

const FILTERS: [&str; 4] = [
    "{}",
    r#"{"a": {"$gte": 1, "$lt": 3}}"#,
    r#"{"a": {"$in": [null, 2, "x"]}}"#,
    r#"{"a": {"$gt": 0}, "b": {"$ne": 1}}"#,
];

const GROUPS: [&str; 6] = [
    r#"{"_id": "$a"}"#,
    r#"{"_id": "$a", "n": {"$sum": 1}}"#,
    r#"{"_id": {"value": "$a"}, "n": {"$count": {}}}"#,
    r#"{"_id": null, "n": {"$sum": 1}, "sum": {"$sum": "$a"}, "mean": {"$avg": "$a"}, "values": {"$addToSet": "$a"}}"#,
    r#"{"_id": "$a", "n": {"$sum": 3000000000}, "tenths": {"$sum": 0.1}, "most": {"$max": "$b"}, "values": {"$addToSet": "$b"}}"#,
    r#"{"_id": {"$type": "$b"}, "all": {"$push": 1}, "n": {"$sum": 1}}"#,
];

#[derive(Debug, Clone)]
enum Step {
    /// Puts, or deletes, documents from an `_id` on.
    Put(i32, i32, u32),
    Delete(i32, i32),
    Update(i32, i32, &'static str),
    Flush,
    Merge,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (0..600i32, prop_oneof![1..10i32, 10..300i32]);
    let update = prop::sample::select(vec![
        r#"{"$set": {"a": 2}}"#,
        r#"{"$unset": {"a": 1}}"#,
        r#"{"$inc": {"b": 1}}"#,
        r#"{"$set": {"t": [1, 2]}}"#,
        r#"{"$set": {"c": 1}}"#,
    ]);
    prop_oneof![
        6 => (range(), any::<u32>()).prop_map(|((from, count), seed)| Step::Put(from, count, seed)),
        2 => range().prop_map(|(from, count)| Step::Delete(from, count)),
        3 => (range(), update).prop_map(|((from, count), update)| Step::Update(from, count, update)),
        2 => Just(Step::Flush),
        1 => Just(Step::Merge),
        1 => Just(Step::Look),
    ]
}

/// A value, chosen by a number; `None` for a missing value. Most documents have one of few values.
fn value(n: u32) -> Option<Value> {
    Some(match n % 16 {
        0 => return None,
        1 => Value::Null,
        2 => Value::from(2.0),
        3 => Value::from(2i64),
        4 => Value::from(1.5),
        5 => Value::from("x"),
        6 => Value::DateTime(1),
        7 => Value::from(true),
        n => Value::from((n % 3) as i32),
    })
}

fn document(id: i32, seed: u32) -> Map {
    let random = (id as u32 ^ seed).wrapping_mul(0x9e37_79b9) >> 8;
    let mut map = Map::from([("_id", id)]);
    let fields = [("a", value(if seed.is_multiple_of(3) { 8 } else { random })), ("b", value(random >> 4))];
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).for_each(|(name, value)| map.push(name, value));
    if random.is_multiple_of(101) {
        map.push("t", Value::Array(vec![Value::from(1), Value::from(2)]));
    }
    map
}

fn run(db: &Database, c: &Collection, step: &Step) {
    match step {
        Step::Put(from, count, seed) => {
            (*from..from + count).for_each(|id| c.put(id, document(id, *seed)).unwrap());
        }
        Step::Delete(from, count) => (*from..from + count).for_each(|id| c.delete(id).unwrap()),
        Step::Update(from, count, update) => {
            let ids = Map::from([("_id", Value::Map(Map::from([("$gte", *from), ("$lt", from + count)])))]);
            // A document with a text cannot be incremented, and ends the update.
            let _some_changed = c.update_many(ids, *update).run();
        }
        Step::Flush => db.flush().unwrap(),
        Step::Merge => db.compact().run().map(drop).unwrap(),
        Step::Look => {}
    }
}

/// Groups by the values of their fields, without the types of equal numbers.
fn comparable(groups: impl IntoIterator<Item = Map>) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let key = |value: &Value| {
        let mut key = Vec::new();
        alluvium_document::key::encode(value, &mut key);
        key
    };
    let parts = |group: Map| {
        let mut parts: Vec<Vec<u8>> = group.entries.iter().map(|(_, value)| key(value)).collect();
        (parts.remove(0), parts)
    };
    groups.into_iter().map(parts).collect()
}

fn check(c: &Collection, at: &Snapshot, all: &[Document]) {
    for filter in FILTERS {
        let wanted = Filter::parse(&map(filter)).unwrap();
        let maps = all.iter().map(|document| document.to_map().unwrap());
        let matching: Vec<Map> = maps.filter(|map| wanted.matches_map(map).unwrap()).collect();
        for group in GROUPS {
            let stages = format!(r#"[{{"$match": {filter}}}, {{"$group": {group}}}]"#);
            let parsed = Pipeline::parse(&alluvium_document::json::parse(stages.as_bytes()).unwrap(), &Variables::NONE);
            let Some(Stage::Group(parsed)) = parsed.unwrap().into_stages().pop() else { panic!("{stages}") };
            let mut groups = Groups::new(parsed);
            matching.iter().for_each(|map| groups.add(RecordRef::Map(map)).unwrap());
            let expected = comparable(groups.take());
            for index in c.indexes().unwrap() {
                let ask = || c.aggregate(stages.as_str()).at(at).hint(index.name.as_str());
                let found = ask().run().unwrap().map(|group| group.unwrap().to_map().unwrap());
                assert_eq!(comparable(found), expected, "{stages}\n{}", ask().explain().unwrap());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn groups_by_an_index_are_those_of_a_scan(
        steps in proptest::collection::vec(step(), 4..24),
        partitions in 1..4u32,
    ) {
        let env = alluvium_env::Env::in_memory(1);
        let db = Database::builder().env(env).partitions(partitions).open(Path::new("db")).unwrap();
        let c = db.create_collection("c").run().unwrap();
        INDEXES.iter().for_each(|keys| drop(c.create_index(*keys).run().unwrap()));
        let mut earlier: Option<(Snapshot, Vec<Document>)> = None;
        for step in steps.iter().chain([&Step::Look]) {
            run(&db, &c, step);
            if let Step::Look = step {
                let now = db.snapshot();
                let all = all_at(&c, &now);
                check(&c, &now, &all);
                if let Some((at, all)) = earlier.replace((now, all)) {
                    check(&c, &at, &all);
                }
            }
        }
    }
}

#[test]
fn many_equal_entries_are_read_once_and_skipped_where_one_suffices() {
    let env = alluvium_env::Env::in_memory(1);
    let db = Database::builder().env(env).partitions(2).open(Path::new("db")).unwrap();
    let c = db.collection("c");
    c.create_index(r#"{"a": 1}"#).run().unwrap();
    c.insert_many((0..4000).map(|n| format!(r#"{{"_id": {n}, "a": {}, "rest": "x"}}"#, n % 4))).unwrap();
    db.flush().unwrap();
    let head = |stages: &str| c.aggregate(stages).explain().unwrap().head.unwrap();
    let counted = head(r#"[{"$sortByCount": "$a"}]"#);
    assert_eq!((counted.returned, counted.keys_examined, counted.documents_examined), (4000, 4000, 0), "{counted}");
    let distinct = head(r#"[{"$group": {"_id": "$a"}}]"#);
    assert_eq!(distinct.documents_examined, 0, "{distinct}");
    assert!((4..1200).contains(&distinct.keys_examined), "{distinct}");
}

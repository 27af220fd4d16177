use super::maker::{Maker, OPERATIONS_BYTES};
use super::*;
use crate::history::{Change, Event};
use crate::testing::Database;
use alluvium_document::diff::Difference;
use alluvium_document::{Text, doc, json};
use alluvium_store::Options;

/// Second 7, with the number as the ordinal.
struct Numbers;

impl ClusterTimes for Numbers {
    fn time(&self, number: Seq) -> Option<Timestamp> {
        Some(time(u32::try_from(number).ok()?))
    }
}

fn time(increment: u32) -> Timestamp {
    Timestamp { time: 7, increment }
}

fn log() -> Oplog {
    Oplog::new(&Database::with(Options::default()).engine, Arc::new(Numbers))
}

fn change(number: Seq, batch: Seq, event: Event) -> Change {
    let name = FullName::parse("shop.pets").unwrap();
    Change { number, batch, collection: 5, name, time_ms: 1234, transaction: None, before: None, event }
}

/// The entries of changes.
fn entries(changes: Vec<Change>) -> Vec<Map> {
    let (log, mut maker) = (log(), Maker::default());
    let mut entries: Vec<Map> = Vec::new();
    for change in changes {
        entries.extend(maker.add(&log, change).unwrap());
    }
    entries.extend(maker.finish(&log).unwrap());
    assert!(maker.finish(&log).unwrap().is_none());
    entries
}

fn without(mut entry: Map, names: &[&str]) -> Map {
    for name in names {
        assert!(entry.remove(name).is_some(), "{name}: {entry}");
    }
    entry
}

// long: a row for each kind of change.
#[test]
fn each_kind_of_change_has_the_form_of_mongodb() {
    let update = |before: Map, after: Map| Event::Update {
        id: json!(1),
        difference: Difference::between(&before, &after).unwrap(),
    };
    let indexes = |definitions: Value| Map::from([("indexes", definitions)]);
    let to = FullName::parse("zoo.cats").unwrap();
    let cases = [
        (
            Event::Insert { document: doc! {"_id": 1, "a": 2} },
            doc! {"op": "i", "ns": "shop.pets", "o": {"_id": 1, "a": 2}, "o2": {"_id": 1}},
        ),
        (
            update(doc! {"_id": 1, "a": 2, "b": 3}, doc! {"_id": 1, "b": 4, "c": 5}),
            doc! {"op": "u", "ns": "shop.pets",
            "o": {"$v": 2, "diff": {"d": {"a": false}, "u": {"b": 4}, "i": {"c": 5}}}, "o2": {"_id": 1}},
        ),
        (
            update(
                doc! {"_id": 1, "t": [1, {"x": 1}, 3, 4], "m": {"n": {"o": 1}}},
                doc! {"_id": 1, "t": [9, {"x": 2}, 3], "m": {"n": {"o": 2}}},
            ),
            doc! {"op": "u", "ns": "shop.pets", "o": {"$v": 2, "diff": {
                "st": {"a": true, "l": 3, "u0": 9, "s1": {"u": {"x": 2}}},
                "sm": {"sn": {"u": {"o": 2}}},
            }}, "o2": {"_id": 1}},
        ),
        (
            Event::Replace { document: doc! {"_id": 1, "b": 1} },
            doc! {"op": "u", "ns": "shop.pets", "o": {"_id": 1, "b": 1}, "o2": {"_id": 1}},
        ),
        (Event::Delete { id: json!(1) }, doc! {"op": "d", "ns": "shop.pets", "o": {"_id": 1}}),
        (
            Event::Create { description: doc! {"capped": true, "idIndex": {"v": 2}} },
            doc! {"op": "c", "ns": "shop.$cmd", "o": {"create": "pets", "capped": true, "idIndex": {"v": 2}}},
        ),
        (Event::Drop, doc! {"op": "c", "ns": "shop.$cmd", "o": {"drop": "pets"}}),
        (
            Event::Rename { to },
            doc! {"op": "c", "ns": "shop.$cmd", "o": {
                "renameCollection": "shop.pets", "to": "zoo.cats", "stayTemp": false, "dropTarget": true,
            }},
        ),
        (
            Event::CreateIndexes { description: indexes(json!([{"v": 2, "key": {"a": 1}, "name": "a_1"}])) },
            doc! {"op": "c", "ns": "shop.$cmd",
            "o": {"createIndexes": "pets", "v": 2, "key": {"a": 1}, "name": "a_1"}},
        ),
        (
            Event::CreateIndexes { description: indexes(json!([{"name": "a_1"}, {"name": "b_1"}])) },
            doc! {"op": "c", "ns": "shop.$cmd",
            "o": {"commitIndexBuild": "pets", "indexes": [{"name": "a_1"}, {"name": "b_1"}]}},
        ),
        (
            Event::DropIndexes { description: indexes(json!([{"name": "a_1"}])) },
            doc! {"op": "c", "ns": "shop.$cmd", "o": {"dropIndexes": "pets", "index": "a_1"}},
        ),
        (
            Event::DropIndexes { description: indexes(json!([{"name": "a_1"}, {"name": "b_1"}])) },
            doc! {"op": "c", "ns": "shop.$cmd", "o": {"dropIndexes": "pets", "index": ["a_1", "b_1"]}},
        ),
        (
            Event::Modify { description: doc! {"validator": {"a": 1}} },
            doc! {"op": "c", "ns": "shop.$cmd", "o": {"collMod": "pets", "validator": {"a": 1}}},
        ),
    ];
    for (event, expected) in cases {
        let entry = entries(vec![change(3, 4, event)]).pop().unwrap();
        let end = doc! {"ts": (Value::Timestamp(time(4))), "t": (1_i64), "v": 2, "wall": (Value::DateTime(1234))};
        let names: Vec<&str> = entry.iter().filter_map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[names.len() - 4..], ["ts", "t", "v", "wall"], "{entry}");
        assert_eq!(names.iter().position(|name| *name == "ui"), Some(2), "{entry}");
        assert_eq!(without(entry, &["ui"]), Map { entries: [expected.entries, end.entries].concat() });
    }
    let mut dropped = change(3, 4, Event::DropDatabase);
    (dropped.collection, dropped.name.collection) = (0, Text::default());
    let dropped = without(entries(vec![dropped]).remove(0), &["ts", "t", "v", "wall"]);
    assert_eq!(dropped, doc! {"op": "c", "ns": "shop.$cmd", "o": {"dropDatabase": 1}});
}

fn insert(number: Seq, batch: Seq, id: i32) -> Change {
    change(number, batch, Event::Insert { document: doc! {"_id": id} })
}

fn of_transaction(change: Change) -> Change {
    Change { transaction: Some(doc! {"lsid": {"id": 1}, "txnNumber": 5}), ..change }
}

fn times(entries: &[Map]) -> Vec<Timestamp> {
    let time = |entry: &Map| match entry.get("ts") {
        Some(Value::Timestamp(time)) => *time,
        _ => panic!("{entry}"),
    };
    entries.iter().map(time).collect()
}

#[test]
fn each_change_of_a_batch_has_a_time_and_the_last_one_that_of_the_batch() {
    let changes = vec![insert(2, 6, 1), insert(3, 6, 2), insert(5, 6, 3), insert(7, 8, 4), insert(9, 9, 5)];
    assert_eq!(times(&entries(changes)), [2, 3, 6, 8, 9].map(time));
}

#[test]
fn a_transaction_is_one_entry() {
    let of_two = vec![of_transaction(insert(2, 6, 1)), of_transaction(insert(4, 6, 2))];
    let alone = vec![of_transaction(insert(9, 10, 4))];
    let changes = [vec![insert(1, 1, 0)], of_two, vec![insert(7, 7, 3)], alone].into_iter().flatten().collect();
    let entries = entries(changes);
    assert_eq!(times(&entries), [1, 6, 7, 10].map(time));
    let operation = |id: i32| doc! {"op": "i", "ns": "shop.pets", "o": {"_id": id}, "o2": {"_id": id}};
    for (entry, ids) in [(&entries[1], &[1, 2][..]), (&entries[3], &[4])] {
        let begin: Vec<&str> = entry.iter().filter_map(|(name, _)| name.as_str()).collect();
        assert_eq!(begin[..5], ["lsid", "txnNumber", "op", "ns", "o"]);
        assert_eq!(entry.get("ns"), Some(&json!("admin.$cmd")));
        let object = entry.get("o").and_then(Value::as_map).unwrap();
        assert_eq!(object.len(), 1, "{object}");
        let operations = object.get("applyOps").and_then(Value::as_array).unwrap().to_vec();
        let operations = operations.iter().map(|operation| without(operation.as_map().unwrap().clone(), &["ui"]));
        assert!(operations.eq(ids.iter().map(|id| operation(*id))), "{entry}");
        let previous = Value::Timestamp(Timestamp { time: 0, increment: 0 });
        assert_eq!(entry.get("prevOpTime"), Some(&json!({"ts": previous, "t": (-1_i64)})));
    }
}

#[test]
fn a_large_transaction_has_several_entries() {
    let large = |number: Seq| {
        let document = doc! {"_id": 1, "bytes": ("x".repeat(OPERATIONS_BYTES / 5 * 2))};
        of_transaction(change(number, 9, Event::Insert { document }))
    };
    let entries = entries((3..8).map(large).collect());
    assert_eq!(times(&entries), [4, 6, 9].map(time));
    let object = |at: usize| entries[at].get("o").and_then(Value::as_map).unwrap();
    let count = |at: usize| object(at).get("applyOps").and_then(Value::as_array).unwrap().len();
    assert_eq!([0, 1, 2].map(count), [2, 2, 1]);
    assert_eq!([0, 1, 2].map(|at| object(at).contains("partialTxn")), [true, true, false]);
    assert_eq!(object(2).get("count"), Some(&json!(5_i64)));
    let previous = |at: usize| entries[at].get("prevOpTime").and_then(Value::as_map).unwrap().get("ts").cloned();
    assert_eq!(previous(1), Some(Value::Timestamp(time(4))));
    assert_eq!(previous(2), Some(Value::Timestamp(time(6))));
}

#[test]
fn filters_allow_times() {
    let at = |increment: u32| Value::Timestamp(time(increment));
    let range = |from: Option<u32>, to: Option<u32>| Times { from: from.map(time), to: to.map(time) };
    for (filter, expected) in [
        (doc! {}, range(None, None)),
        (doc! {"ts": (at(3))}, range(Some(3), Some(3))),
        (doc! {"ts": {"$gt": (at(3))}, "op": "i"}, range(Some(3), None)),
        (doc! {"ts": {"$gte": (at(3)), "$lt": (at(5))}}, range(Some(3), Some(5))),
        (doc! {"$and": [{"ts": {"$gt": (at(3))}}, {"ts": {"$gt": (at(2)), "$lte": (at(9))}}]}, range(Some(3), Some(9))),
        (doc! {"$or": [{"ts": {"$gt": (at(3))}}, {"op": "i"}]}, range(None, None)),
        (doc! {"ts": {"$not": {"$gt": (at(3))}}}, range(None, None)),
        (doc! {"ts": {"$gt": 3}}, range(None, None)),
        (doc! {"o.ts": {"$gt": (at(3))}}, range(None, None)),
    ] {
        assert_eq!(Times::of(&filter), expected, "{filter}");
    }
    let stages = json!([{"$match": {"ts": {"$gt": (at(3))}}}, {"$match": {"ts": {"$lt": (at(5))}}}, {"$limit": 1},
        {"$match": {"ts": {"$gt": (at(4))}}}]);
    assert_eq!(Times::of_stages(&stages), range(Some(3), Some(5)));
    assert_eq!(Times::of_stages(&json!(7)), range(None, None));
}

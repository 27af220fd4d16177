//! A restored dump is identical to the original in every respect: types, the order of fields,
//! duplicate names, and keys of any type.

use alluvium::dump;
use alluvium::{Database, Map, Value};
use alluvium_document::arbitrary;
use alluvium_env::Env;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NAMES: [&str; 5] = ["main.pets", "main.a/b:c é%", "main.x.y", "other.pets", "other.empty"];

fn open(env: &Env, path: &str) -> Database {
    Database::builder().env(env.clone()).memory(8 << 20).open(path).unwrap()
}

/// All collections and their documents, in order.
fn content(db: &Database) -> BTreeMap<String, Vec<Map>> {
    let documents = |name: &str| -> Vec<Map> {
        let cursor = db.collection(name).scan().run().unwrap();
        cursor.map(|document| document.unwrap().to_map().unwrap()).collect()
    };
    db.collections().iter().map(|info| (info.full_name(), documents(&info.full_name()))).collect()
}

/// A random document whose `_id` may be at any position.
fn document(keys: BoxedStrategy<Value>, value: BoxedStrategy<Value>) -> impl Strategy<Value = Map> {
    let entries = prop::collection::vec((keys, value.clone()), 0..4);
    let named = prop::collection::vec((names(), value.clone()), 0..4);
    (entries, named, value, any::<prop::sample::Index>()).prop_map(|(entries, named, id, at)| {
        let mut map = Map { entries };
        map.entries.extend(named);
        map.entries.retain(|(key, _)| key.as_str() != Some("_id"));
        let at = at.index(map.len() + 1);
        map.entries.insert(at, (Value::from("_id"), id));
        map
    })
}

fn names() -> BoxedStrategy<Value> {
    "[a-d$]{1,2}".prop_map(Value::from).boxed()
}

fn any_document() -> impl Strategy<Value = Map> {
    document(arbitrary::value().boxed(), arbitrary::value().boxed())
}

/// Stores every document that can be stored, but only one for each `_id`. Returns their number.
fn fill(db: &Database, documents: &[Map]) -> usize {
    let mut ids = BTreeSet::new();
    let mut batch = db.write_batch();
    for (at, map) in documents.iter().enumerate() {
        let Ok(key) = alluvium_document::key::id_key(map.get("_id").unwrap()) else { continue };
        if Value::Map(map.clone()).is_too_deep() || !ids.insert((at % 3, key)) {
            continue;
        }
        batch.put(&db.collection(NAMES[at % 3]), map.get("_id").unwrap().clone(), map.clone()).unwrap();
    }
    batch.commit().unwrap();
    for name in NAMES {
        if db.collection(name).require_existing().is_err() {
            db.create_collection(name).run().unwrap();
        }
    }
    ids.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_dump_restores_everything_exactly(
        documents in prop::collection::vec(any_document(), 0..12),
        gzip in any::<bool>(),
    ) {
        let env = Env::in_memory(1);
        let db = open(&env, "db");
        let stored = fill(&db, &documents);
        let report = db.dump("dump").gzip(gzip).alluvium_types(true).run().unwrap();
        prop_assert_eq!((report.documents, report.collections), (stored as u64, NAMES.len() as u64));
        let other = open(&env, "other");
        dump::read("dump").env(env.clone()).run().unwrap().restore(&other).run().unwrap();
        prop_assert_eq!(content(&other), content(&db));
        // A dump of the restored database has the same figures.
        let again = other.dump("again").gzip(gzip).alluvium_types(true).run().unwrap();
        prop_assert_eq!(again, report);
    }

    #[test]
    fn without_types_of_its_own_all_is_exact_or_refused_by_name(
        documents in prop::collection::vec(document(names(), arbitrary::bson_value().boxed()), 1..6),
        odd in prop::option::of(any_document()),
    ) {
        let env = Env::in_memory(2);
        let db = open(&env, "db");
        fill(&db, &[documents, odd.into_iter().collect()].concat());
        match db.dump("dump").run() {
            Ok(report) => {
                prop_assert_eq!(report.others, 0);
                let other = open(&env, "other");
                dump::read("dump").env(env.clone()).run().unwrap().restore(&other).run().unwrap();
                prop_assert_eq!(content(&other), content(&db));
            }
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("document ") && error.contains("cannot be written"), "{}", error);
                prop_assert!(dump::read("dump").env(env.clone()).run().is_err());
            }
        }
    }
}

#[test]
fn what_is_hard_to_hold_comes_back_too() {
    let decimal = |text: &str| Value::Decimal(text.parse().unwrap());
    let map = |entries: &[(&str, Value)]| {
        Value::Map(Map { entries: entries.iter().map(|(name, value)| (Value::from(*name), value.clone())).collect() })
    };
    let mut deep = decimal("1E+9999");
    for _ in 1..alluvium_document::value::MAX_DEPTH {
        deep = Value::Map(Map { entries: vec![(Value::Null, deep)] });
    }
    let regex = |pattern: &str, options: &str| {
        Value::Regex(Box::new(alluvium_document::Regex { pattern: pattern.into(), options: options.into() }))
    };
    let huge = "1234567890123456789012345678901234567890";
    let values = [
        decimal("0E+7000"),
        decimal("-0E-7000"),
        decimal("12345678901234567890123456789012340"),
        decimal(huge),
        decimal("-0.000"),
        map(&[("$oid", Value::from("x")), ("n", decimal(huge))]),
        map(&[("$oid", Value::from("0123456789abcdef01234567")), ("\0", Value::Null)]),
        map(&[("$alluviumMap", Value::Array(vec![])), ("\0", Value::Null)]),
        map(&[("$date", Value::Int64(1))]),
        map(&[("a", decimal(huge)), ("a", Value::Null)]),
        Value::Array(vec![Value::Map(Map { entries: vec![(Value::Array(vec![]), decimal(huge))] })]),
        regex("a\0b", "i"),
        regex("ab", "im"),
        Value::from("text ".repeat(200_000)),
        Value::Array(vec![decimal(huge), Value::from("\u{1}".repeat(1 << 20))]),
        deep,
    ];
    let env = Env::in_memory(3);
    let db = open(&env, "db");
    for (at, value) in values.into_iter().enumerate() {
        db.collection("c").put(at as i32, [("v", value)].into_iter().collect::<Map>()).unwrap();
    }
    let report = db.dump("dump").alluvium_types(true).run().unwrap();
    // BSON holds only -0.000, the map with `$date`, the pattern without a NUL, and the text.
    assert_eq!(report.others, 12);
    let other = open(&env, "other");
    dump::read("dump").env(env.clone()).run().unwrap().restore(&other).run().unwrap();
    assert!(content(&other) == content(&db));
}

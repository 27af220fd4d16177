use super::*;
use alluvium::Database;

/// Checks that the values are in order, from the first to below the last, and differ.
fn checked(first: impl Into<Value>, last: impl Into<Value>, places: u64) -> Vec<Value> {
    let (first, last) = (first.into(), last.into());
    let found = between(&first, &last, places);
    assert_eq!(found.len() as u64, places, "{found:?}");
    assert_eq!(compare(&found[0], &first), Ordering::Equal, "{found:?}");
    assert!(found.is_sorted_by(|a, b| compare(a, b) == Ordering::Less), "{found:?}");
    assert_eq!(compare(&found[found.len() - 1], &last), Ordering::Less, "{found:?}");
    found
}

#[test]
fn values_are_spread_between_two() {
    assert_eq!(checked(0_i64, 100, 4), [0_i64, 25, 50, 75].map(Value::from));
    checked(i64::MIN, i64::MAX, 200);
    checked(-1000, 1_000_000.5, 200);
    checked(Value::DateTime(-5000), Value::DateTime(1 << 41), 200);
    checked([0_u8; 12], [255; 12], 200);
    checked("a", "zz", 200);
    checked("evn2i5p", "evz", 200);
    checked("", "日本語", 200);
    checked("Ωα", "Ωω", 200);
    assert_eq!(checked("ma", "mz", 5)[1], Value::from("mf"));
}

#[test]
fn there_is_one_place_where_nothing_is_between() {
    let alone = |first: Value, last: Value| assert_eq!(between(&first, &last, 10), [first]);
    alone(Value::from(1), Value::from("a"));
    alone(Value::Bool(false), Value::Bool(true));
    alone(Value::Null, Value::Null);
    // No integer lies between the two fractions.
    alone(Value::from(0.25), Value::from(0.75));
}

fn sampled(ids: impl Iterator<Item = Value>, documents: u64) -> (Vec<Value>, Extent) {
    let db = Database::in_memory().expect("a database");
    let collection = db.collection("c");
    let maps = ids.map(|id| Map::from([("_id", id)]));
    collection.insert_many(maps).expect("documents");
    let mut found = Vec::new();
    let mut visit = |map: &Map| found.push(map.get("_id").cloned().expect("an _id"));
    let extent = some(&Readable::Collection(collection), documents, &Stop::never(), &mut visit).expect("a sample");
    (found, extent)
}

#[test]
fn a_sample_has_its_size_and_comes_from_everywhere() {
    let (found, extent) = sampled((0..10_000).map(Value::from), 1000);
    assert_eq!((found.len(), extent), (1000, Extent::Spread));
    assert!(found.is_sorted_by(|a, b| compare(a, b) == Ordering::Less), "no document comes twice");
    let above = |least: i64| found.iter().filter(|id| id.as_i64() >= Some(least)).count();
    assert!((200..300).contains(&above(7500)) && (700..800).contains(&above(2500)), "{found:?}");
}

#[test]
fn uneven_ids_give_a_sample_too() {
    // Most `_id`s are close to each other.
    let ids = (0..5000).map(|n| Value::from(format!("a{n:05}"))).chain(["zz".into()]);
    let (found, extent) = sampled(ids, 500);
    assert_eq!((found.len(), extent), (500, Extent::Spread));
    let different: std::collections::BTreeSet<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(different.len(), 500, "no document comes twice");
    let late = found.iter().filter(|id| id.as_str() >= Some("a02500")).count();
    assert!((150..350).contains(&late), "{late}");
    let (found, extent) = sampled([Value::from(1), Value::from("a"), Value::from("b")].into_iter(), 2);
    assert_eq!((found.len(), extent), (2, Extent::First));
}

//! Documents and updates that often affect each other: they have few names and few values, but all types that operators
//! distinguish.

use alluvium_document::decimal::Decimal;
use alluvium_document::value::Timestamp;
use alluvium_document::{Map, Value};
use alluvium_query::update::{Update, UpdateError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const NAMES: [&str; 7] = ["a", "b", "c", "0", "1", "3", "$x"];

fn number() -> impl Strategy<Value = Value> {
    let decimal = |text: &str| Value::Decimal(text.parse::<Decimal>().unwrap());
    let edges = vec![
        Value::from(0),
        Value::from(i32::MAX),
        Value::from(i64::MAX),
        Value::from(i64::MIN),
        Value::from(7i64),
        Value::from(0.5),
        Value::from(-0.0),
        Value::from(f64::NAN),
        Value::from(f64::INFINITY),
        decimal("1.10"),
        decimal("-0"),
        decimal("NaN"),
        decimal("1E+40000"),
        decimal("1234567890123456789012345678901234567890"),
    ];
    prop_oneof![3 => (-3i32..4).prop_map(Value::from), 1 => select(edges), 1 => any::<i64>().prop_map(Value::from)]
}

fn scalar() -> impl Strategy<Value = Value> {
    let others = vec![
        Value::Null,
        Value::from(true),
        Value::from("x"),
        Value::from(""),
        Value::MinKey,
        Value::MaxKey,
        Value::DateTime(5),
        Value::Timestamp(Timestamp { time: 1, increment: 2 }),
        Value::ObjectId([7; 12]),
    ];
    prop_oneof![3 => number(), 2 => select(others)]
}

/// Any value: a scalar, or a small array or map.
pub fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 20, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::Array), map_of(inner).prop_map(Value::Map)]
    })
}

fn map_of(inner: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Map> {
    (Just(NAMES).prop_shuffle(), vec(inner, 0..4)).prop_map(|(names, values)| names.into_iter().zip(values).collect())
}

/// A document with an `_id`.
pub fn document() -> impl Strategy<Value = Map> {
    map_of(value()).prop_map(|mut map| {
        map.remove("$x");
        map.entries.insert(0, (Value::from("_id"), Value::from("an id")));
        map
    })
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![5 => select(NAMES.to_vec()), 1 => select(vec!["$[]", "$[x]", "$[y]"])];
    let names = vec(name, 0..3);
    (select(vec!["a", "b", "c", "0", "_id"]), names).prop_map(|(first, names)| {
        let mut path = first.to_owned();
        names.iter().for_each(|name| path.extend([".", name]));
        path
    })
}

fn push() -> impl Strategy<Value = Value> {
    let sorts = [r#"{"a":1}"#, r#"{"a.b":-1,"c":1}"#].map(|json| Value::Map(super::map_of(json)));
    let sort = select([vec![Value::from(1), Value::from(-1)], sorts.to_vec()].concat());
    let number = || (-3i32..4).prop_map(Value::from);
    let each = (vec(value(), 0..4), prop::option::of(number()), prop::option::of(number()), prop::option::of(sort));
    let with = each.prop_map(|(values, position, slice, sort)| {
        let mut map = Map::from([("$each", Value::Array(values))]);
        let modifiers = [("$position", position), ("$slice", slice), ("$sort", sort)];
        for (name, value) in modifiers {
            value.into_iter().for_each(|value| map.push(name, value));
        }
        Value::Map(map)
    });
    prop_oneof![value(), with]
}

fn condition() -> impl Strategy<Value = Value> {
    let operators = || {
        let one = (select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), value());
        let many = (select(vec!["$in", "$nin"]), vec(value(), 0..3).prop_map(Value::Array));
        vec(prop_oneof![one, many], 1..3).prop_map(|tests| Value::Map(tests.into_iter().collect()))
    };
    let field = (select(vec!["a", "a.b", "b.0", "c"]), prop_oneof![value(), operators()]);
    let fields = vec(field, 0..3).prop_map(|fields| Value::Map(fields.into_iter().collect()));
    let others =
        [r#"{"$type":"number"}"#, r#"{"$exists":true}"#, r#"{"$size":1}"#, r#"{"$or":[{"a":1},{"b":{"$gt":0}}]}"#];
    let other = select(others.map(|text| Value::Map(super::map_of(text))).to_vec());
    prop_oneof![3 => value(), 3 => operators(), 3 => fields, 1 => other]
}

fn bit() -> impl Strategy<Value = Value> {
    let integer = prop_oneof![any::<i32>().prop_map(Value::from), any::<i64>().prop_map(Value::from), number()];
    vec((select(vec!["and", "or", "xor"]), integer), 1..3).prop_map(|all| Value::Map(all.into_iter().collect()))
}

fn change() -> impl Strategy<Value = (&'static str, (String, Value))> {
    let with = |operator: &'static str, operand: BoxedStrategy<Value>| (Just(operator), (path(), operand)).boxed();
    let each = vec(value(), 0..6).prop_map(|values| Value::Map(Map::from([("$each", Value::Array(values))])));
    let date = r#"{"$type":"date"}"#;
    prop_oneof![
        with("$set", value().boxed()),
        with("$setOnInsert", value().boxed()),
        with("$unset", Just(Value::from("")).boxed()),
        with("$inc", number().boxed()),
        with("$mul", number().boxed()),
        with("$min", value().boxed()),
        with("$max", value().boxed()),
        with("$push", push().boxed()),
        with("$addToSet", prop_oneof![value(), each].boxed()),
        with("$pull", condition().boxed()),
        with("$pullAll", vec(value(), 0..6).prop_map(Value::Array).boxed()),
        with("$bit", bit().boxed()),
        with("$pop", select(vec![Value::from(1), Value::from(-1)]).boxed()),
        with("$rename", path().prop_map(Value::from).boxed()),
        with("$currentDate", select(vec![Value::from(true), Value::Map(super::map_of(date))]).boxed()),
    ]
}

/// An update document with up to `most` changes, which may conflict.
pub fn update(most: usize) -> impl Strategy<Value = Map> {
    vec(change(), 1..most + 1).prop_map(|changes| {
        let mut update = Map::new();
        for (operator, (path, operand)) in changes {
            if !update.contains(operator) {
                update.push(operator, Map::new());
            }
            if let Some(Value::Map(fields)) = update.get_mut(operator) {
                fields.push(path, operand);
            }
        }
        update
    })
}

/// Parses the update with array filters for all of its names in brackets.
pub fn parse(written: &Map) -> Result<Update, UpdateError> {
    let paths: Vec<&Value> = written.entries.iter().filter_map(|(_, fields)| fields.as_map()).flat_map(paths).collect();
    let filters = [("$[x]", r#"{"x":{"$gte":0}}"#), ("$[y]", r#"{"y.a":{"$exists":true}}"#)];
    let used = filters.iter().filter(|(name, _)| paths.iter().any(|path| path.as_str().unwrap().contains(name)));
    let used: Vec<Value> = used.map(|(_, filter)| Value::Map(super::map_of(filter))).collect();
    Update::parse_with(written, &used)
}

fn paths(fields: &Map) -> impl Iterator<Item = &Value> {
    fields.entries.iter().map(|(path, _)| path)
}

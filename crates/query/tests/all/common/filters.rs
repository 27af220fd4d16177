//! Filters that often match the documents of [`super::arbitrary`].

use alluvium_document::value::Regex;
use alluvium_document::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::arbitrary::value;

/// A path into documents, which may have positions.
pub fn path() -> impl Strategy<Value = String> {
    let plain = vec!["a", "b", "c", "a.b", "a.c", "b.a", "a.b.c"];
    let positions = vec!["0", "a.0", "a.1", "a.0.b", "a.b.0", "a.0.0"];
    prop_oneof![4 => select(plain), 1 => select(positions)].prop_map(str::to_owned)
}

fn operand() -> BoxedStrategy<Value> {
    value().prop_filter("not comparable", |value| *value != Value::Undefined).boxed()
}

fn operators(of: BoxedStrategy<(&'static str, Value)>) -> BoxedStrategy<Value> {
    let once = |all: Vec<(&'static str, Value)>| {
        let mut map = Map::new();
        all.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
        Value::Map(map)
    };
    vec(of, 1..3).prop_map(once).boxed()
}

fn regex() -> impl Strategy<Value = Value> {
    (select(vec!["^x", "^", "^X", "^xy"]), select(vec!["", "i"])).prop_map(|(pattern, options)| {
        Value::Regex(Box::new(Regex { pattern: pattern.to_owned(), options: options.to_owned() }))
    })
}

/// An operator on values that does not examine elements of arrays.
fn plain() -> BoxedStrategy<(&'static str, Value)> {
    let types = ["null", "int", "double", "number", "string", "object", "array", "bool", "minKey"];
    let list = || vec(prop_oneof![5 => operand(), 1 => regex()], 0..4).prop_map(Value::Array);
    let literal = |value: &Value| !matches!(value, Value::Map(map) if is_operators(map));
    let list = move || list().prop_filter("operators", move |all| all.as_array().unwrap().iter().all(literal));
    let modulo = (select(vec![1, 2, 3, -2]), -1i32..3).prop_map(|(a, b)| Value::Array(vec![a.into(), b.into()]));
    prop_oneof![
        6 => (select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), operand()),
        2 => (select(vec!["$in", "$nin", "$all"]), list()),
        1 => (Just("$exists"), any::<bool>().prop_map(Value::from)),
        1 => (Just("$type"), select(types.to_vec()).prop_map(Value::from)),
        1 => (Just("$size"), (0i32..3).prop_map(Value::from)),
        1 => (Just("$mod"), modulo),
        1 => (Just("$bitsAllSet"), (0i32..4).prop_map(Value::from)),
        1 => (Just("$regex"), regex()),
    ]
    .boxed()
}

fn is_operators(map: &Map) -> bool {
    map.entries.first().is_some_and(|(name, _)| name.as_str().unwrap().starts_with('$'))
}

fn condition() -> BoxedStrategy<Value> {
    let literal = operand().prop_filter("operators", |v| !matches!(v, Value::Map(map) if is_operators(map)));
    let leaf = prop_oneof![3 => operators(plain()), 1 => literal, 1 => regex()];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let negated = inner.clone().prop_filter_map("not negated", |inner| match inner {
            Value::Map(map) if is_operators(&map) => Some(("$not", Value::Map(map))),
            value @ Value::Regex(_) => Some(("$not", value)),
            _ => None,
        });
        let of_fields = vec((path(), inner), 0..3).prop_map(fields).prop_map(|map| ("$elemMatch", Value::Map(map)));
        let of_itself = operators(plain()).prop_map(|map| ("$elemMatch", map));
        operators(prop_oneof![negated, of_fields, of_itself, plain()].boxed())
    })
    .boxed()
}

fn fields(fields: Vec<(String, Value)>) -> Map {
    let mut map = Map::new();
    fields.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
    map
}

/// A filter that can be parsed.
pub fn filter() -> impl Strategy<Value = Map> {
    let leaf = vec((path(), condition()), 0..3).prop_map(fields);
    leaf.prop_recursive(2, 8, 3, |inner| {
        let list = (select(vec!["$and", "$or", "$nor"]), vec(inner.clone(), 1..4));
        (inner, list).prop_map(|(mut map, (name, list))| {
            map.insert(name, Value::Array(list.into_iter().map(Value::Map).collect()));
            map
        })
    })
}

//! Documents and filters that nearly always concern the same values: few names and values, and arrays of maps through
//! which two paths lead.

use alluvium_document::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn small() -> impl Strategy<Value = Value> {
    prop_oneof![6 => (0i32..4).prop_map(Value::from), 1 => Just(Value::Null), 1 => Just(Value::from("x"))]
}

fn one_or_some(one: impl Strategy<Value = Value> + Clone + 'static) -> BoxedStrategy<Value> {
    prop_oneof![2 => one.clone(), 1 => vec(one, 0..4).prop_map(Value::Array)].boxed()
}

fn fields(names: &'static [&'static str], of: BoxedStrategy<Value>) -> BoxedStrategy<Map> {
    let each = vec(prop::option::weighted(0.8, of), names.len());
    each.prop_map(|values| {
        let pairs = names.iter().zip(values).filter_map(|(name, value)| value.map(|value| (*name, value)));
        pairs.collect()
    })
    .boxed()
}

/// A document without an `_id`.
pub fn document() -> impl Strategy<Value = Map> {
    let scalar = small().boxed();
    let rarely = prop_oneof![4 => small().boxed(), 1 => one_or_some(small().boxed())].boxed();
    let inner = fields(&["b", "c"], rarely).prop_map(Value::Map).boxed();
    let leaf = one_or_some(scalar.clone());
    let a = prop_oneof![
        1 => leaf.clone(),
        3 => vec(prop_oneof![5 => inner.clone(), 1 => scalar.clone()], 0..4).prop_map(Value::Array),
        1 => inner.clone(),
        1 => vec(vec(inner, 0..2).prop_map(Value::Array), 0..2).prop_map(Value::Array),
    ];
    let others = fields(&["b", "c"], prop_oneof![3 => scalar, 1 => leaf].boxed());
    (prop::option::weighted(0.9, a), others).prop_map(|(a, mut map)| {
        if let Some(a) = a {
            map.insert("a", a);
        }
        map
    })
}

fn operators() -> BoxedStrategy<Value> {
    let end = select(vec![Value::MinKey, Value::MaxKey, Value::Array(vec![1.into()]), Value::Array(Vec::new())]);
    let operand = prop_oneof![8 => small().boxed(), 1 => end.boxed()];
    let one = prop_oneof![
        8 => (select(vec!["$eq", "$eq", "$eq", "$gt", "$gte", "$lt", "$lte", "$ne"]), operand),
        1 => (select(vec!["$in", "$nin"]), vec(small(), 1..3).prop_map(Value::Array)),
        1 => (Just("$exists"), any::<bool>().prop_map(Value::from)),
        1 => (Just("$size"), (0i32..2).prop_map(Value::from)),
        1 => (Just("$type"), select(vec!["null", "number", "array", "object"]).prop_map(Value::from)),
    ];
    vec(one, 1..3)
        .prop_map(|all| {
            let mut map = Map::new();
            all.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
            Value::Map(map)
        })
        .boxed()
}

fn condition() -> BoxedStrategy<Value> {
    let inner = (operators(), prop::option::of(operators()), select(vec!["b", "c", "0"])).prop_map(|(b, c, name)| {
        let mut map = Map::from([(name, b)]);
        if let Some(c) = c {
            map.insert("c", c);
        }
        Value::Map(map)
    });
    let elem_match = |filter: Value| Value::Map(Map::from([("$elemMatch", filter)]));
    prop_oneof![
        6 => operators(),
        2 => inner.prop_map(elem_match),
        1 => operators().prop_map(elem_match),
        1 => operators().prop_map(|inner| Value::Map(Map::from([("$not", inner)]))),
    ]
    .boxed()
}

fn conjunction() -> BoxedStrategy<Map> {
    let often = select(vec!["a.b", "a.c", "a"]);
    let path = prop_oneof![4 => often, 1 => select(vec!["b", "c", "a.0", "a.0.b"])];
    vec((path, condition()), 1..4)
        .prop_map(|fields| {
            let mut map = Map::new();
            fields.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
            map
        })
        .boxed()
}

/// Two simple conditions, which many documents meet.
fn pair() -> impl Strategy<Value = Map> {
    let path = select(vec!["a.b", "a.c", "a", "b"]);
    let one = (path, select(vec!["$eq", "$eq", "$gte", "$lt"]), (0i32..4).prop_map(Value::from));
    vec(one, 2).prop_map(|all| {
        let mut map = Map::new();
        let condition = |(path, name, operand)| (path, Value::Map(Map::from([(name, operand)])));
        all.into_iter().map(condition).for_each(|(path, condition)| drop(map.insert(path, condition)));
        map
    })
}

/// A filter that can be parsed.
pub fn filter() -> impl Strategy<Value = Map> {
    prop_oneof![1 => pair(), 1 => conditions()]
}

fn conditions() -> impl Strategy<Value = Map> {
    let branches = vec(conjunction(), 2..3).prop_map(|all| Value::Array(all.into_iter().map(Value::Map).collect()));
    let more = prop_oneof![3 => Just(None), 1 => (select(vec!["$or", "$and", "$nor"]), branches).prop_map(Some)];
    (conjunction(), more).prop_map(|(mut map, more)| {
        if let Some((name, branches)) = more {
            map.insert(name, branches);
        }
        map
    })
}

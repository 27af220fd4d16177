//! Documents of arrays in arrays and values of many types, and filters with every operator that meets them: nulls and what is
//! missing, negations over arrays, `$elemMatch` in `$elemMatch`, `$all`, `$type`, `$mod` and bits.

use document::value::{Binary, Regex};
use document::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn scalar() -> BoxedStrategy<Value> {
    let rare = vec![
        Value::from(1.0),
        Value::from(2.5),
        Value::from(f64::NAN),
        Value::from(3i64),
        Value::from(""),
        Value::from("xy"),
        Value::from(true),
        Value::from(false),
        Value::DateTime(1),
        Value::Binary(Binary { subtype: 0, bytes: vec![1] }),
        Value::Regex(Box::new(Regex { pattern: "^x".to_owned(), options: String::new() })),
        Value::MinKey,
        Value::MaxKey,
    ];
    prop_oneof![6 => (0i32..4).prop_map(Value::from), 2 => Just(Value::Null), 1 => Just(Value::from("x")), 1 => select(rare)]
        .boxed()
}

fn fields(of: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let field = || prop::option::weighted(0.7, of.clone());
    (field(), field()).prop_map(|(b, c)| {
        let pairs = [("b", b), ("c", c)];
        Value::Map(pairs.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect())
    })
}

/// A value with arrays in arrays, of a few shapes that paths lead into.
pub fn value() -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(
            4,
            16,
            3,
            |inner| prop_oneof![3 => vec(inner.clone(), 0..4).prop_map(Value::Array), 2 => fields(inner)],
        )
        .boxed()
}

/// A document without an `_id`.
pub fn document() -> impl Strategy<Value = Map> {
    let a = prop_oneof![1 => value(), 3 => vec(value(), 0..4).prop_map(Value::Array)];
    let b = prop_oneof![2 => scalar(), 1 => vec(scalar(), 0..3).prop_map(Value::Array)];
    (prop::option::weighted(0.9, a), prop::option::weighted(0.7, b)).prop_map(|(a, b)| {
        let pairs = [("a", a), ("b", b)];
        pairs.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
    })
}

/// What a condition compares with; sometimes a whole array or map.
fn operand() -> BoxedStrategy<Value> {
    let plain = |value: &Value| !matches!(value, Value::Regex(_));
    let scalar = || scalar().prop_filter("a pattern", plain);
    let some = vec(scalar(), 0..3).prop_map(Value::Array);
    let within = vec(vec(scalar(), 0..3).prop_map(Value::Array), 0..2).prop_map(Value::Array);
    prop_oneof![8 => scalar(), 2 => some, 1 => within, 1 => fields(scalar())].boxed()
}

fn operator() -> BoxedStrategy<(&'static str, Value)> {
    let types = ["null", "int", "double", "number", "string", "object", "array", "bool", "date"];
    let list = || vec(operand(), 0..4).prop_map(Value::Array);
    let modulo = (select(vec![2, 3]), 0i32..3).prop_map(|(a, b)| Value::Array(vec![a.into(), b.into()]));
    prop_oneof![
        8 => (select(vec!["$eq", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), operand()),
        4 => (select(vec!["$in", "$nin", "$all"]), list()),
        2 => (Just("$exists"), any::<bool>().prop_map(Value::from)),
        2 => (Just("$type"), select(types.to_vec()).prop_map(Value::from)),
        1 => (Just("$size"), (0i32..3).prop_map(Value::from)),
        1 => (Just("$mod"), modulo),
        1 => (select(vec!["$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"]), (0i32..4).prop_map(Value::from)),
        1 => (Just("$regex"), select(vec!["^x", "^xy"]).prop_map(Value::from)),
    ]
    .boxed()
}

fn all_of(operators: impl Strategy<Value = (&'static str, Value)>) -> impl Strategy<Value = Value> {
    vec(operators, 1..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(name, value)| drop(map.insert(name, value)));
        Value::Map(map)
    })
}

fn condition() -> BoxedStrategy<Value> {
    all_of(operator())
        .prop_recursive(3, 8, 2, |inner| {
            let path = select(vec!["b", "c", "0", "0.b", "b.0"]);
            let fields = vec((path, inner.clone()), 1..3).prop_map(|all| {
                let mut map = Map::new();
                all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
                Value::Map(map)
            });
            all_of(prop_oneof![
                3 => operator(),
                2 => inner.clone().prop_map(|inner| ("$not", inner)),
                2 => fields.prop_map(|fields| ("$elemMatch", fields)),
                1 => inner.prop_map(|inner| ("$elemMatch", inner)),
            ])
        })
        .boxed()
}

fn conjunction() -> impl Strategy<Value = Map> {
    let often = select(vec!["a", "a.b", "a.0", "a.0.b", "b"]);
    let path = prop_oneof![3 => often, 1 => select(vec!["a.1", "a.0.0", "a.b.0", "a.b.c", "a.c", "a.0.1", "a.0.b.0"])];
    vec((path, condition()), 1..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
        map
    })
}

/// A filter that is read without an error.
pub fn filter() -> impl Strategy<Value = Map> {
    let branches = vec(conjunction(), 1..3).prop_map(|all| Value::Array(all.into_iter().map(Value::Map).collect()));
    let more = prop_oneof![3 => Just(None), 1 => (select(vec!["$or", "$and", "$nor"]), branches).prop_map(Some)];
    (conjunction(), more).prop_map(|(mut map, more)| {
        if let Some((name, branches)) = more {
            map.insert(name, branches);
        }
        map
    })
}

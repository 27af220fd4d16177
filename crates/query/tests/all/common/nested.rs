//! Documents with nested arrays and values of many types, and filters for them with every operator: null and missing
//! values, negations over arrays, `$elemMatch` in `$elemMatch`, `$all`, `$type`, `$mod` and bits.

use alluvium_document::value::{Binary, Regex};
use alluvium_document::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn scalar() -> BoxedStrategy<Value> {
    let rare = vec![
        Value::from(1.0),
        Value::from(2.5),
        Value::from(f64::INFINITY),
        Value::from(3i64),
        Value::from(""),
        Value::from("xy"),
        Value::from(true),
        Value::from(false),
        Value::DateTime(1),
        Value::Regex(Box::new(Regex { pattern: "^x".to_owned(), options: String::new() })),
        Value::MinKey,
        Value::MaxKey,
    ];
    let texts = select(vec!["x", "xy", "y"]).prop_map(Value::from);
    let bits = Value::Binary(Binary { subtype: 0, bytes: vec![1] });
    let numbers = select(vec![Value::from(f64::NAN), Value::from(1.0), Value::from(-1), bits]);
    prop_oneof![
        6 => (0i32..4).prop_map(Value::from),
        2 => Just(Value::Null),
        2 => texts,
        1 => numbers,
        1 => select(rare),
    ]
    .boxed()
}

fn fields(of: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let field = || prop::option::weighted(0.7, of.clone());
    (field(), field()).prop_map(|(b, c)| {
        let pairs = [("b", b), ("c", c)];
        Value::Map(pairs.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect())
    })
}

/// A value with arrays in arrays. It has one of a few shapes into which paths lead.
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

/// All values in the documents, including whole arrays and maps. Filters use these values so that their conditions are
/// often met.
pub fn pool<'a>(documents: impl IntoIterator<Item = &'a Map>) -> Vec<Value> {
    fn collect(value: &Value, pool: &mut Vec<Value>) {
        if !matches!(value, Value::Regex(_)) {
            pool.push(value.clone());
        }
        match value {
            Value::Array(elements) => elements.iter().for_each(|element| collect(element, pool)),
            Value::Map(map) => map.entries.iter().for_each(|(_, value)| collect(value, pool)),
            _ => {}
        }
    }
    let mut pool = Vec::new();
    documents.into_iter().flat_map(|map| &map.entries).for_each(|(_, value)| collect(value, &mut pool));
    pool
}

/// The operand of a condition, which may be a whole array or map.
fn operand(pool: &[Value]) -> BoxedStrategy<Value> {
    let met = [&[Value::Null], pool].concat();
    let plain = |value: &Value| !matches!(value, Value::Regex(_));
    let scalar = || scalar().prop_filter("a pattern", plain);
    let some = vec(scalar(), 0..3).prop_map(Value::Array);
    let within = vec(vec(scalar(), 0..3).prop_map(Value::Array), 0..2).prop_map(Value::Array);
    prop_oneof![6 => select(met), 6 => scalar(), 2 => some, 1 => within, 1 => fields(scalar())].boxed()
}

fn operator(pool: &[Value]) -> BoxedStrategy<(&'static str, Value)> {
    let operand = operand(pool);
    let types = ["null", "int", "double", "number", "string", "object", "array", "bool", "date"];
    let pattern = select(vec!["^x", "^xy", "^y"])
        .prop_map(|pattern| Value::Regex(Box::new(Regex { pattern: pattern.to_owned(), options: String::new() })));
    let elements = operand.clone();
    let list = move || vec(prop_oneof![4 => elements.clone(), 1 => pattern.clone()], 0..4).prop_map(Value::Array);
    let modulo = (select(vec![2, 3]), -1i32..3).prop_map(|(a, b)| Value::Array(vec![a.into(), b.into()]));
    prop_oneof![
        8 => (select(vec!["$eq", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), operand),
        4 => (select(vec!["$in", "$nin", "$all"]), list()),
        2 => (Just("$exists"), any::<bool>().prop_map(Value::from)),
        2 => (Just("$type"), select(types.to_vec()).prop_map(Value::from)),
        1 => (Just("$size"), (0i32..3).prop_map(Value::from)),
        2 => (Just("$mod"), modulo),
        2 => (select(vec!["$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"]), (0i32..4).prop_map(Value::from)),
        2 => (Just("$regex"), select(vec!["^x", "^xy", "^y"]).prop_map(Value::from)),
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

fn condition(pool: &[Value]) -> BoxedStrategy<Value> {
    let operator = operator(pool);
    all_of(operator.clone())
        .prop_recursive(3, 8, 2, move |inner| {
            let path = select(vec!["b", "c", "0", "0.b", "b.0"]);
            let fields = vec((path, inner.clone()), 1..3).prop_map(|all| {
                let mut map = Map::new();
                all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
                Value::Map(map)
            });
            all_of(prop_oneof![
                3 => operator.clone(),
                2 => inner.clone().prop_map(|inner| ("$not", inner)),
                2 => fields.prop_map(|fields| ("$elemMatch", fields)),
                1 => inner.prop_map(|inner| ("$elemMatch", inner)),
            ])
        })
        .boxed()
}

fn conjunction(pool: &[Value]) -> impl Strategy<Value = Map> + use<> {
    let often = select(vec!["a", "a.b", "a.0", "a.0.b", "b"]);
    let path = prop_oneof![3 => often, 1 => select(vec!["a.1", "a.0.0", "a.b.0", "a.b.c", "a.c", "a.0.1", "a.0.b.0"])];
    vec((path, condition(pool)), 1..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
        map
    })
}

/// A filter that can be parsed. Some of its values are from the pool.
pub fn filter(pool: &[Value]) -> impl Strategy<Value = Map> + use<> {
    let branches = vec(conjunction(pool), 1..3).prop_map(|all| Value::Array(all.into_iter().map(Value::Map).collect()));
    let more = prop_oneof![3 => Just(None), 1 => (select(vec!["$or", "$and", "$nor"]), branches).prop_map(Some)];
    (conjunction(pool), more).prop_map(|(mut map, more)| {
        if let Some((name, branches)) = more {
            map.insert(name, branches);
        }
        map
    })
}

/// A document, and a filter of one or two operators on one field. The values of the document, many of rare types, often
/// meet the filter.
pub fn meeting() -> impl Strategy<Value = (Map, Map)> {
    let rare = vec![
        Value::from(-3),
        Value::from(-1.5),
        Value::from(2.5),
        Value::from(f64::NAN),
        Value::from("x"),
        Value::from("xy"),
        Value::Binary(Binary { subtype: 0, bytes: vec![1, 2] }),
        Value::Regex(Box::new(Regex { pattern: "^x".to_owned(), options: String::new() })),
        Value::Null,
    ];
    let one = prop_oneof![3 => select(rare), 1 => scalar()].boxed();
    let value = prop_oneof![
        2 => one.clone(),
        2 => vec(one.clone(), 0..3).prop_map(Value::Array),
        1 => vec(vec(one, 0..2).prop_map(Value::Array), 0..2).prop_map(Value::Array),
    ];
    let document = value.prop_map(|value| Map::from([("a", value)]));
    document.prop_flat_map(|document| {
        let condition = all_of(operator(&pool([&document])));
        let filter = condition.prop_map(|condition| Map::from([("a", condition)]));
        (filter, Just(document))
    })
}

/// A document with one field, which in most cases is an array of few values.
pub fn small() -> impl Strategy<Value = Map> {
    let one = || prop_oneof![5 => (0i32..3).prop_map(Value::from), 2 => Just(Value::Null), 1 => scalar()].boxed();
    let some = || vec(one(), 0..3).prop_map(Value::Array).boxed();
    let map = || prop_oneof![3 => one(), 1 => some()].prop_map(|b| Value::Map(Map::from([("b", b)]))).boxed();
    let empty = || Just(Value::Map(Map::new())).boxed();
    let value = prop_oneof![
        1 => one(),
        2 => some(),
        2 => vec(prop_oneof![1 => one(), 2 => some()], 0..3).prop_map(Value::Array),
        3 => vec(prop_oneof![1 => one(), 4 => map(), 1 => empty()], 0..3).prop_map(Value::Array),
    ];
    prop::option::weighted(0.9, value).prop_map(|a| a.into_iter().map(|a| ("a", a)).collect())
}

/// A filter of one or two conditions on that field.
pub fn of_small(pool: &[Value]) -> impl Strategy<Value = Map> + use<> {
    let path = select(vec!["a", "a", "a.b", "a.0"]);
    let met = select([&[Value::Null, Value::Null], pool].concat()).boxed();
    let literal = met.clone().prop_map(|value| Value::Map(Map::from([("$eq", value)])));
    // Each of the two operators may be met by a different element.
    let both = (met.clone(), met)
        .prop_map(|(one, other)| Value::Map(Map::from([("$eq", one), ("$in", Value::Array(vec![other]))])));
    let condition = prop_oneof![1 => literal, 1 => both, 2 => condition(pool)];
    vec((path, condition), 1..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
        map
    })
}

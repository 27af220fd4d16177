//! Random documents, writes and queries that often affect each other. The expected results of a
//! query come from a scan with a simple evaluation of the filter.

use alluvium::{Collection, Database, Document, Hint, Map, Snapshot, Value};
use alluvium_query::filter::Filter;
use alluvium_query::index::Definition;
use alluvium_query::sort::Sort;
use proptest::prelude::*;

pub const INDEXES: &[(&str, &str)] = &[
    (r#"{"a": 1}"#, "{}"),
    (r#"{"b": -1, "a": 1}"#, "{}"),
    (r#"{"t": 1, "a": -1}"#, "{}"),
    (r#"{"a": -1, "b": -1, "t": 1}"#, "{}"),
    (r#"{"b": 1}"#, r#"{"sparse": true, "name": "sparse"}"#),
    (r#"{"b": "hashed"}"#, "{}"),
    (r#"{"m.x": 1}"#, "{}"),
    (r#"{"t.0": 1, "b": 1}"#, "{}"),
    (r#"{"m.x": -1, "m.y": 1}"#, "{}"),
    (r#"{"a": 1, "_id": -1}"#, "{}"),
    (r#"{"t": 1}"#, r#"{"partialFilterExpression": {"a": {"$gte": 1}}, "name": "partial"}"#),
];

/// An operation on a collection.
#[derive(Debug, Clone)]
pub enum Step {
    Put(u8, Map),
    Delete(u8),
    Apply(u8, &'static str),
    Update(u8, &'static str),
    Flush,
}

pub fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (0..5i32).prop_map(Value::from),
        1 => (0..5i32).prop_map(|n| Value::from(f64::from(n) + 0.5)),
        1 => (0..5i32).prop_map(|n| Value::from(f64::from(n))),
        1 => Just(Value::Null),
        2 => prop::sample::select(vec!["x", "xy", "y"]).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => long(),
    ]
}

/// Texts whose keys just fit without being cut, or are cut after the same first bytes.
fn long() -> impl Strategy<Value = Value> {
    let end = prop::sample::select(vec!["", "x", "xx", "xxa", "xxb"]);
    end.prop_map(|end| Value::from("x".repeat(alluvium_query::index::MAX_PART_BYTES - 4) + end))
}

/// A value, an array of values, or nested arrays.
pub fn several() -> impl Strategy<Value = Value> {
    let some = || proptest::collection::vec(value(), 0..4).prop_map(Value::Array);
    let nested = proptest::collection::vec(prop_oneof![value(), some()], 0..3).prop_map(Value::Array);
    prop_oneof![2 => value(), 2 => some(), 1 => nested]
}

/// A map for the field `m`, or an array of maps.
fn maps() -> impl Strategy<Value = Value> {
    let field = || proptest::option::weighted(0.7, several());
    let one = || {
        (proptest::option::weighted(0.8, value()), field()).prop_map(|(x, y)| {
            let pairs = [("x", x), ("y", y)];
            Value::Map(pairs.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect())
        })
    };
    prop_oneof![3 => one(), 1 => proptest::collection::vec(prop_oneof![4 => one().boxed(), 1 => value().boxed()], 0..3).prop_map(Value::Array)]
}

pub fn document() -> impl Strategy<Value = Map> {
    let field = || proptest::option::weighted(0.8, value());
    let some = proptest::option::of(several());
    (field(), field(), some, proptest::option::of(maps())).prop_map(|(a, b, t, m)| {
        let mut map = Map::new();
        for (name, value) in [("a", a), ("b", b), ("t", t), ("m", m)] {
            value.into_iter().for_each(|value| map.push(name, value));
        }
        map
    })
}

pub fn step() -> impl Strategy<Value = Step> {
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

pub fn condition() -> impl Strategy<Value = Value> {
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
        1 => list("$all"),
        1 => several(),
        2 => others(),
        1 => others().prop_map(|inner| Value::Map(Map::from([("$not", inner)]))),
        1 => range_within().prop_map(|inner| Value::Map(Map::from([("$not", inner)]))),
    ]
}

fn range_within() -> impl Strategy<Value = Value> {
    (value(), value()).prop_map(|(low, high)| Value::Map(Map::from([("$gte", low), ("$lte", high)])))
}

/// Operators that hardly restrict the bounds of an index scan, or that apply to elements of arrays.
fn others() -> impl Strategy<Value = Value> {
    let texts = vec![
        r#"{"$type": "array"}"#,
        r#"{"$type": "null"}"#,
        r#"{"$type": ["int", "string"]}"#,
        r#"{"$mod": [2, 1]}"#,
        r#"{"$size": 2}"#,
        r#"{"$size": 0}"#,
        r#"{"$bitsAllSet": 1}"#,
        r#"{"$bitsAnyClear": 3}"#,
        r#"{"$regex": "^x"}"#,
        r#"{"$elemMatch": {"x": {"$gte": 1}, "y": {"$lt": 3}}}"#,
        r#"{"$elemMatch": {"x": 2, "y": null}}"#,
    ];
    let text = prop::sample::select(texts).prop_map(|text| Value::Map(map(text)));
    let elements = range_within().prop_map(|inner| Value::Map(Map::from([("$elemMatch", inner)])));
    prop_oneof![2 => text, 1 => elements]
}

pub fn conditions() -> impl Strategy<Value = Map> {
    let path = prop::sample::select(vec!["a", "b", "t", "t.0", "m.x", "m.y", "m", "_id"]);
    proptest::collection::vec((path, condition()), 0..3).prop_map(|all| {
        let mut map = Map::new();
        all.into_iter().for_each(|(path, condition)| drop(map.insert(path, condition)));
        map
    })
}

pub fn filter() -> impl Strategy<Value = Map> {
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

pub fn sort() -> impl Strategy<Value = &'static str> {
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

pub fn map(text: &str) -> Map {
    alluvium_document::json::parse(text.as_bytes()).unwrap().as_map().unwrap().clone()
}

/// An `_id` of one of several types. An index entry holds the exact value of some of these types.
fn id_of(n: u8) -> Value {
    match n % 3 {
        0 => Value::ObjectId([n; 12]),
        1 => Value::DateTime(i64::from(n)),
        _ => Value::from(i32::from(n)),
    }
}

pub fn run(c: &Collection, step: &Step) {
    match step {
        Step::Put(id, map) => c.put(id_of(*id), map).unwrap(),
        Step::Delete(id) => c.delete(id_of(*id)).unwrap(),
        Step::Apply(id, update) => c.update_blind(id_of(*id), *update).unwrap(),
        // An invalid update, such as one of a field in an array, changes nothing.
        Step::Update(id, update) => drop(c.update_one(Map::from([("_id", id_of(*id))]), *update).run()),
        Step::Flush => c_flush(c),
    }
}

pub fn c_flush(c: &Collection) {
    // A collection has no flush of its own. Statistics are read instead; they flush nothing.
    let _stats = c.stats().unwrap();
}

/// The documents that match a simple evaluation of the filter, in the order of `_id`.
pub fn naive(all: &[Document], filter: &Map) -> Vec<Map> {
    let filter = Filter::parse(filter).unwrap();
    let maps = all.iter().map(|document| document.to_map().unwrap());
    maps.filter(|map| filter.matches_map(map).unwrap()).collect()
}

pub fn sorted_by_id(mut maps: Vec<Map>) -> Vec<Map> {
    maps.sort_by(|a, b| alluvium_document::compare::compare(a.get("_id").unwrap(), b.get("_id").unwrap()));
    maps
}

pub fn check(db: &Database, c: &Collection, filter: &Map, sort: &str, hint: Option<Hint>, remember: usize) {
    let at = db.snapshot();
    check_at(c, &at, &all_at(c, &at), filter, sort, hint, remember);
}

/// All documents at a snapshot.
pub fn all_at(c: &Collection, at: &Snapshot) -> Vec<Document> {
    c.scan().at(at).run().unwrap().collect::<Result<_, _>>().unwrap()
}

/// Same as [`check`], at a snapshot.
pub fn check_at(
    c: &Collection,
    at: &Snapshot,
    all: &[Document],
    filter: &Map,
    sort: &str,
    hint: Option<Hint>,
    remember: usize,
) {
    let matching = naive(all, filter);
    let mut expected = matching.clone();
    if let Some(Value::String(name)) = hint.clone().map(Hint::into_value) {
        // A hint forces a sparse or partial index, even if the index lacks some documents.
        let infos = c.indexes().unwrap();
        let info = infos.iter().find(|info| info.name == name && name != "_id_");
        let definition = info.map(|info| Definition::from_map(&info.definition).unwrap());
        expected.retain(|map| definition.as_ref().is_none_or(|index| !index.keys(map).unwrap().keys.is_empty()));
    }
    let ask = || {
        let find = c.find(filter).at(at).sort(sort).remember(remember);
        match &hint {
            Some(hint) => find.hint(hint.clone()),
            None => find,
        }
    };
    let what = format!("{filter:?} sorted by {sort} with {hint:?}");
    let found = ask().run().unwrap_or_else(|error| panic!("{what}: {error}"));
    let found: Vec<Document> = found.collect::<Result<_, _>>().unwrap();
    let order = Sort::parse(&map(sort)).unwrap();
    let keys: Vec<Vec<u8>> = found.iter().map(|document| order.key(document).unwrap()).collect();
    assert!(keys.is_sorted(), "{what}: not in order");
    let maps: Vec<Map> = found.iter().map(|document| document.to_map().unwrap()).collect();
    assert_eq!(sorted_by_id(maps), expected, "{what}\n{}", ask().explain().unwrap());
    assert_eq!(ask().count().unwrap(), expected.len() as u64, "{what}: count");
    // Documents from the middle are returned in the same order.
    let some: Vec<Document> = ask().skip(1).limit(3).run().unwrap().collect::<Result<_, _>>().unwrap();
    let some: Vec<Vec<u8>> = some.iter().map(|document| order.key(document).unwrap()).collect();
    let from = 1.min(keys.len());
    assert_eq!(some, keys[from..keys.len().min(4)], "{what}: skip and limit");
    for fields in [r#"{"a": 1, "_id": 0}"#, r#"{"a": 1}"#, r#"{"_id": 1}"#, r#"{"a": 1, "b": 1}"#] {
        let found = ask().projection(fields).run().unwrap().map(|document| document.unwrap().to_string());
        let mut found: Vec<String> = found.collect();
        let projection = alluvium_query::projection::Projection::parse(&map(fields)).unwrap();
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
    let mut values: Vec<Value> = c.find(filter).at(at).distinct("a").unwrap();
    let mut wanted = alluvium_query::distinct::Distinct::new("a").unwrap();
    matching.iter().for_each(|map| wanted.add(&Document::from_map(map).unwrap()).unwrap());
    let mut wanted: Vec<Value> = wanted.into_values().collect();
    // The order of two equal numbers of different types is unspecified.
    let plain = |values: &mut Vec<Value>| {
        values.iter().map(|v| format!("{:?}", alluvium_document::key::id_key(v))).collect::<Vec<_>>()
    };
    assert_eq!(plain(&mut values), plain(&mut wanted), "{what}: distinct");
}

/// The fields of a map, sorted by name. A query that reads only an index returns fields in the
/// order of the index.
pub fn fields_sorted(map: &Map) -> String {
    let mut fields: Vec<String> = map.entries.iter().map(|(name, value)| format!("{name:?}: {value:?}")).collect();
    fields.sort();
    fields.join(", ")
}

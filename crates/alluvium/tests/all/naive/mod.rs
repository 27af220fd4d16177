//! A simple evaluator of pipelines over vectors of maps.

use alluvium::{Map, Value, doc};
use alluvium_document::compare::compare;
use proptest::prelude::*;
use std::cmp::Ordering;

/// Random stages, and whether their results have an order.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub stages: Vec<Map>,
    pub ordered: bool,
}

/// A random value of the field `k`: one of a few values of several types, including equal numbers of different types.
fn group_value() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        3 => prop::sample::select(vec!["x", "y", "z"]).prop_map(|text| Some(Value::from(text))),
        2 => (0..3i32).prop_map(|n| Some(Value::Int32(n))),
        1 => (0..3i32).prop_map(|n| Some(Value::from(f64::from(n)))),
        1 => Just(Some(Value::Null)),
        1 => Just(None),
    ]
}

/// A random value of the field `a`: a number, an array of numbers, or a missing value.
fn number_or_array() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        3 => (-5..5i32).prop_map(|n| Some(Value::Int32(n))),
        1 => (-5..5i32).prop_map(|n| Some(Value::from(f64::from(n) + 0.5))),
        2 => proptest::collection::vec(-3..3i32, 0..4)
            .prop_map(|list| Some(Value::Array(list.into_iter().map(Value::Int32).collect()))),
        1 => Just(None),
    ]
}

type Fields = (Option<Value>, Option<Value>, Option<i32>);

/// Documents with the `_id`s 0, 1, 2, …
pub fn documents(most: usize) -> impl Strategy<Value = Vec<Map>> {
    let fields = (group_value(), number_or_array(), proptest::option::of(-5..5i32));
    proptest::collection::vec(fields, 0..most).prop_map(|all| {
        let document = |(id, (k, a, c)): (usize, Fields)| {
            let mut map = Map::from([("_id", id as i32)]);
            k.into_iter().for_each(|k| map.push("k", k));
            a.into_iter().for_each(|a| map.push("a", a));
            c.into_iter().for_each(|c| map.push("b", doc! {"c": c}));
            map
        };
        all.into_iter().enumerate().map(document).collect()
    })
}

/// The local and foreign fields of a `$lookup`.
const LOOKUPS: [(&str, &str); 6] = [("b.c", "b.c"), ("a", "a"), ("k", "k"), ("a", "_id"), ("_id", "a"), ("b.c", "_id")];

/// A stage whose results have at most one document for each `_id`.
fn plain_stage() -> impl Strategy<Value = Map> {
    let n = -5..5i32;
    prop_oneof![
        n.clone().prop_map(|n| doc! {"$match": {"a": {"$gte": n}}}),
        n.clone().prop_map(|n| doc! {"$match": {"b.c": n}}),
        n.clone().prop_map(|n| doc! {"$match": {"$expr": {"$eq": ["$b.c", n]}}}),
        n.clone().prop_map(|n| doc! {"$match": {"$expr": {"$lt": ["$b.c", n]}}}),
        Just(doc! {"$match": {"k": "x"}}),
        n.clone().prop_map(|n| doc! {"$set": {"s": {"$add": ["$b.c", n]}}}),
        n.prop_map(|n| doc! {"$addFields": {"b.d": n}}),
        Just(doc! {"$unset": "a"}),
        Just(doc! {"$project": {"k": 1, "a": 1, "b": 1}}),
        Just(doc! {"$project": {"k": 1, "t": "$b.c"}}),
        prop::sample::select(LOOKUPS.to_vec()).prop_map(|(local, foreign)| {
            doc! {"$lookup": {"from": "d", "localField": local, "foreignField": foreign, "as": "l"}}
        }),
        Just(
            doc! {"$setWindowFields": {"partitionBy": "$k", "sortBy": {"_id": 1}, "output": {"w": {"$sum": "$b.c", "window": {"documents": [-1, 0]}}}}}
        ),
    ]
}

/// The last stages of a pipeline, and whether their results have an order.
fn last_stages() -> impl Strategy<Value = (Vec<Map>, bool)> {
    let accumulators = doc! {
        "n": {"$sum": 1}, "s": {"$sum": "$b.c"}, "m": {"$avg": "$b.c"}, "lo": {"$min": "$a"}, "hi": {"$max": "$a"},
        "u": {"$addToSet": "$b.c"}, "x": {"$max": "$_id"},
        "t": {"$topN": {"n": 2, "sortBy": {"_id": -1}, "output": "$_id"}},
    };
    let group = move |id: Value| {
        let mut map = Map::from([("_id", id)]);
        map.entries.extend(accumulators.entries.iter().cloned());
        doc! {"$group": map}
    };
    let ids = vec![Value::Null, Value::from("$k"), Value::Map(doc! {"k": "$k", "c": "$b.c"}), Value::from("$b.c")];
    prop_oneof![
        prop::sample::select(ids).prop_map(move |id| (vec![group(id)], false)),
        Just((
            vec![
                doc! {"$sort": {"_id": 1}},
                doc! {"$group": {"_id": "$k", "f": {"$first": "$_id"}, "l": {"$last": "$a"}, "p": {"$push": "$_id"}}}
            ],
            false
        )),
        Just((vec![doc! {"$count": "n"}], true)),
        Just((vec![doc! {"$sort": {"k": 1, "_id": -1}}], true)),
        (0..6i32, 1..6i32).prop_map(|(skip, limit)| {
            (vec![doc! {"$sort": {"_id": -1}}, doc! {"$skip": skip}, doc! {"$limit": limit}], true)
        }),
        (1..12i32, -5..5i32).prop_map(|(limit, n)| {
            let first = vec![doc! {"$sort": {"_id": -1}}, doc! {"$limit": limit}];
            ([first, vec![doc! {"$match": {"a": {"$gte": n}}}]].concat(), true)
        }),
        Just((vec![doc! {"$unwind": "$a"}], false)),
        Just((
            vec![doc! {"$unwind": {"path": "$a", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i"}}],
            false
        )),
        Just((vec![doc! {"$unwind": "$a"}, doc! {"$sortByCount": "$a"}, doc! {"$sort": {"_id": 1}}], true)),
        Just((vec![doc! {"$facet": {"n": [{"$count": "n"}], "f": [{"$sort": {"_id": 1}}, {"$limit": 2}]}}], true)),
        Just((vec![], false)),
    ]
}

pub fn pipeline() -> impl Strategy<Value = Pipeline> {
    (proptest::collection::vec(plain_stage(), 0..4), last_stages())
        .prop_map(|(stages, (last, ordered))| Pipeline { stages: [stages, last].concat(), ordered })
}

/// The result of the stages over the documents `c`, with `d` as the other collection.
pub fn run(c: &[Map], d: &[Map], stages: &[Map]) -> Vec<Map> {
    stages.iter().fold(c.to_vec(), |documents, stage| {
        let (name, operand) = stage.iter().next().expect("a stage");
        one(documents, d, name.as_str().expect("a name"), operand)
    })
}

fn map(value: &Value) -> &Map {
    value.as_map().unwrap_or_else(|| panic!("no map: {value}"))
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no integer: {value}"))
}

fn one(documents: Vec<Map>, d: &[Map], name: &str, operand: &Value) -> Vec<Map> {
    match name {
        "$match" => documents.into_iter().filter(|document| matches(document, map(operand))).collect(),
        "$set" | "$addFields" => documents.into_iter().map(|document| add(document, map(operand))).collect(),
        "$unset" => documents.into_iter().map(|document| without(document, operand.as_str().unwrap())).collect(),
        "$project" => documents.into_iter().map(|document| project(&document, map(operand))).collect(),
        "$lookup" => documents.into_iter().map(|document| lookup(document, d, map(operand))).collect(),
        "$setWindowFields" => windows(documents),
        "$group" => group(documents, map(operand)),
        "$count" if documents.is_empty() => Vec::new(),
        "$count" => vec![Map::from([(operand.as_str().unwrap(), documents.len() as i32)])],
        "$sort" => sorted(documents, map(operand)),
        "$skip" => documents.into_iter().skip(int(operand) as usize).collect(),
        "$limit" => documents.into_iter().take(int(operand) as usize).collect(),
        "$unwind" => documents.into_iter().flat_map(|document| unwind(document, operand)).collect(),
        "$sortByCount" => group(documents, &doc! {"_id": operand.clone(), "count": {"$sum": 1}}),
        "$facet" => {
            let mut made = Map::new();
            for (field, stages) in map(operand).iter() {
                let stages: Vec<Map> = stages.as_array().unwrap().iter().map(|stage| map(stage).clone()).collect();
                let results = run(&documents, d, &stages).into_iter().map(Value::Map).collect();
                made.push(field.clone(), Value::Array(results));
            }
            vec![made]
        }
        other => panic!("the naive evaluator has no {other}"),
    }
}

/// The value of a path such as `"$a.b"`, of a constant, or of one of a few operators.
fn value(document: &Map, expression: &Value) -> Option<Value> {
    match expression {
        Value::String(text) if text.starts_with('$') => at(document, &text[1..]),
        Value::Map(inner) => match inner.iter().next() {
            Some((name, operands)) if name.as_str() == Some("$add") => {
                let operands = operands.as_array().unwrap();
                let (left, right) = (value(document, &operands[0]), value(document, &operands[1]));
                match (left, right) {
                    (Some(left), Some(right)) if left.is_number() && right.is_number() => {
                        Some(Value::Int32((int(&left) + int(&right)) as i32))
                    }
                    _ => Some(Value::Null),
                }
            }
            _ => {
                let fields = inner.iter().filter_map(|(name, inner)| Some((name.clone(), value(document, inner)?)));
                Some(Value::Map(Map { entries: fields.collect() }))
            }
        },
        constant => Some(constant.clone()),
    }
}

/// The value at a path that leads only through maps.
fn at(document: &Map, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => document.get(path).cloned(),
        Some((first, rest)) => at(document.get(first)?.as_map()?, rest),
    }
}

fn or_null(value: Option<Value>) -> Value {
    value.unwrap_or(Value::Null)
}

fn matches(document: &Map, filter: &Map) -> bool {
    let (field, condition) = filter.iter().next().expect("a condition");
    match (field.as_str().unwrap(), condition) {
        ("$expr", condition) => {
            let (operator, operands) = map(condition).iter().next().unwrap();
            let operands = operands.as_array().unwrap();
            let (left, right) = (value(document, &operands[0]), value(document, &operands[1]));
            // A missing value is less than any other value.
            let order = match (&left, &right) {
                (Some(left), Some(right)) => compare(left, right),
                (None, Some(_)) => Ordering::Less,
                _ => Ordering::Greater,
            };
            if operator.as_str() == Some("$eq") { order.is_eq() } else { order.is_lt() }
        }
        (field, Value::Map(range)) => {
            let least = range.get("$gte").expect("a range");
            let reaches = |value: &Value| value.is_number() && compare(value, least).is_ge();
            match at(document, field) {
                Some(Value::Array(elements)) => elements.iter().any(reaches),
                Some(value) => reaches(&value),
                None => false,
            }
        }
        (field, wanted) => at(document, field).is_some_and(|value| compare(&value, wanted).is_eq()),
    }
}

fn add(document: Map, fields: &Map) -> Map {
    let mut made = document.clone();
    for (field, expression) in fields.iter() {
        let computed = value(&document, expression);
        match (field.as_str().unwrap().split_once('.'), computed) {
            (None, Some(computed)) => drop(made.insert(field.clone(), computed)),
            (None, None) => drop(made.remove(field.as_str().unwrap())),
            (Some((outer, inner)), Some(computed)) => match made.get_mut(outer) {
                Some(Value::Map(map)) => drop(map.insert(inner, computed)),
                _ => drop(made.insert(outer, Map::from([(inner, computed)]))),
            },
            (Some(_), None) => {}
        }
    }
    made
}

fn without(mut document: Map, field: &str) -> Map {
    document.remove(field);
    document
}

fn project(document: &Map, fields: &Map) -> Map {
    let included = |name: &str| name == "_id" || fields.get(name).is_some_and(Value::is_number);
    let mut made: Map = document
        .iter()
        .filter(|(name, _)| included(name.as_str().unwrap()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    for (name, expression) in fields.iter().filter(|(_, expression)| !expression.is_number()) {
        if let Some(computed) = value(document, expression) {
            made.push(name.clone(), computed);
        }
    }
    made
}

fn lookup(mut document: Map, d: &[Map], operand: &Map) -> Map {
    // The elements of an array, or a single value; null for a missing value.
    let values = |document: &Map, field: &str| {
        let value = or_null(at(document, operand.get(field).and_then(Value::as_str).unwrap()));
        match value {
            Value::Array(elements) => elements,
            value => vec![value],
        }
    };
    let mut own = values(&document, "localField");
    if own.is_empty() {
        own.push(Value::Null);
    }
    let equal = |other: &&Map| {
        let others = values(other, "foreignField");
        own.iter().any(|own| others.iter().any(|other| compare(other, own).is_eq()))
    };
    let found = d.iter().filter(equal).cloned().map(Value::Map).collect();
    document.insert("l", Value::Array(found));
    document
}

fn windows(documents: Vec<Map>) -> Vec<Map> {
    let mut made = sorted(documents, &doc! {"k": 1, "_id": 1});
    for place in 0..made.len() {
        let same = place > 0 && compare(&or_null(at(&made[place - 1], "k")), &or_null(at(&made[place], "k"))).is_eq();
        let around = made[if same { place - 1 } else { place }..=place].iter();
        let sum: i64 = around.filter_map(|document| at(document, "b.c")).map(|c| int(&c)).sum();
        made[place].insert("w", sum as i32);
    }
    made
}

fn sorted(mut documents: Vec<Map>, order: &Map) -> Vec<Map> {
    documents.sort_by(|x, y| {
        let by = |(path, direction): (&Value, &Value)| {
            let path = path.as_str().unwrap();
            let order = compare(&or_null(at(x, path)), &or_null(at(y, path)));
            if int(direction) < 0 { order.reverse() } else { order }
        };
        order.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    documents
}

fn unwind(document: Map, operand: &Value) -> Vec<Map> {
    let (path, keeps) = match operand {
        Value::String(path) => (path.as_str(), false),
        operand => (map(operand).get("path").unwrap().as_str().unwrap(), true),
    };
    let field = &path[1..];
    let with = |value: Option<Value>, index: Value| {
        let mut copy = document.clone();
        match value {
            Some(value) => drop(copy.insert(field, value)),
            None => drop(copy.remove(field)),
        }
        if keeps {
            copy.insert("i", index);
        }
        copy
    };
    match document.get(field).cloned() {
        Some(Value::Array(elements)) if !elements.is_empty() => {
            let one = |(index, element)| with(Some(element), Value::Int64(index as i64));
            elements.into_iter().enumerate().map(one).collect()
        }
        Some(Value::Array(_)) | None if keeps => vec![with(None, Value::Null)],
        Some(Value::Array(_)) | None => Vec::new(),
        Some(other) => vec![with(Some(other), Value::Null)],
    }
}

fn group(documents: Vec<Map>, stage: &Map) -> Vec<Map> {
    let mut groups: Vec<(Value, Vec<Map>)> = Vec::new();
    for document in documents {
        let id = or_null(value(&document, stage.get("_id").unwrap()));
        match groups.iter_mut().find(|(known, _)| compare(known, &id).is_eq()) {
            Some((_, members)) => members.push(document),
            None => groups.push((id, vec![document])),
        }
    }
    let finish = |(id, members): (Value, Vec<Map>)| {
        let mut made = Map::from([("_id", id)]);
        for (field, accumulator) in stage.iter().filter(|(field, _)| field.as_str() != Some("_id")) {
            let (name, argument) = map(accumulator).iter().next().unwrap();
            made.push(field.clone(), accumulated(&members, name.as_str().unwrap(), argument));
        }
        made
    };
    groups.into_iter().map(finish).collect()
}

fn accumulated(members: &[Map], name: &str, argument: &Value) -> Value {
    let present: Vec<Value> = members.iter().filter_map(|member| value(member, argument)).collect();
    let numbers: Vec<f64> = present.iter().filter_map(Value::as_f64).collect();
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let not_null = || present.iter().filter(|value| **value != Value::Null);
    match name {
        "$sum" => Value::Int32(numbers.iter().sum::<f64>() as i32),
        "$avg" | "$stdDevPop" if numbers.is_empty() => Value::Null,
        "$avg" => Value::from(mean),
        "$stdDevPop" => {
            let squares: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
            // The square root of the mean of the squared distances from the mean.
            Value::from((squares / numbers.len() as f64).sqrt())
        }
        "$min" => or_null(not_null().min_by(|x, y| compare(x, y)).cloned()),
        "$max" => {
            or_null(not_null().cloned().reduce(|best, value| if compare(&value, &best).is_gt() { value } else { best }))
        }
        "$first" => or_null(members.first().and_then(|member| value(member, argument))),
        "$last" => or_null(members.last().and_then(|member| value(member, argument))),
        "$push" => Value::Array(present),
        "$addToSet" => {
            let mut set = present;
            set.sort_by(compare);
            set.dedup_by(|x, y| compare(x, y).is_eq());
            Value::Array(set)
        }
        "$topN" => {
            let mut ids: Vec<Value> = members.iter().filter_map(|member| at(member, "_id")).collect();
            ids.sort_by(|x, y| compare(y, x));
            ids.truncate(2);
            Value::Array(ids)
        }
        other => panic!("the naive evaluator has no {other}"),
    }
}

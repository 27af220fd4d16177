//! Pipelines in the shapes of queries.

use super::conditions::{all_of, expression};
use super::{Parts, required};
use crate::fields::Fields;
use alluvium::{Map, Value};
use std::collections::BTreeSet;

/// Fields of stages that name collections and fields, which are no values.
const NAMES: [&str; 11] =
    ["as", "coll", "db", "field", "foreignField", "from", "into", "localField", "path", "connectFromField", "on"];

/// A stage: its name and its operand.
fn named(stage: &Value) -> Option<(&str, &Value)> {
    let (name, operand) = stage.as_map()?.entries.first()?;
    Some((name.as_str()?, operand))
}

/// The part of a pipeline that is planned as a query: the filters and the sort at its head, and what the stage after
/// them needs of the documents.
pub(super) fn head(pipeline: &[Value]) -> Parts {
    let mut parts = Parts::default();
    let mut filters = Vec::new();
    let mut rest = pipeline.iter().filter_map(named).peekable();
    while let Some((_, Value::Map(filter))) = rest.next_if(|(name, _)| *name == "$match") {
        filters.push(Value::Map(filter.clone()));
    }
    match filters.as_slice() {
        [] => {}
        [Value::Map(filter)] => parts.filter = filter.clone(),
        _ => parts.filter = Map::from([("$and", Value::Array(filters))]),
    }
    if let Some((_, Value::Map(sort))) = rest.next_if(|(name, _)| *name == "$sort") {
        parts.sort = sort.clone();
    }
    if let Some((name, operand)) = rest.next() {
        parts.needed = needed(name, operand);
    }
    parts
}

/// What a stage needs, if it decides about the plan of the stages before it.
fn needed(name: &str, operand: &Value) -> String {
    let fields = || {
        let mut fields = BTreeSet::new();
        add_paths(operand, &mut fields);
        format!("{name}({})", fields.into_iter().collect::<Vec<_>>().join(","))
    };
    match (name, operand) {
        ("$group" | "$bucket" | "$bucketAuto" | "$sortByCount" | "$replaceRoot" | "$replaceWith", _) => fields(),
        ("$count", _) => "$count".to_owned(),
        ("$project", Value::Map(projection)) => required(projection).join(","),
        ("$sort", sort) => sort.to_string(),
        ("$lookup", Value::Map(lookup)) => {
            let part = |field: &str| lookup.text(field).unwrap_or_default();
            format!("$lookup({},{},{},{})", part("from"), part("localField"), part("foreignField"), part("as"))
        }
        ("$densify" | "$setWindowFields", Value::Map(stage)) => {
            let part = |field: &str| stage.get(field).map(Value::to_string).unwrap_or_default();
            let parts = ["partitionByFields", "partitionBy", "field", "sortBy"].map(part);
            format!("sorted({})", parts.join(","))
        }
        _ => String::new(),
    }
}

/// The paths of fields in an expression.
fn add_paths(value: &Value, paths: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => map.iter().for_each(|(_, value)| add_paths(value, paths)),
        Value::Array(values) => values.iter().for_each(|value| add_paths(value, paths)),
        Value::String(text) if text.starts_with('$') => drop(paths.insert(text[1..].to_owned())),
        _ => {}
    }
}

/// All stages in their order, with the types of their values.
pub(super) fn shape(pipeline: &[Value]) -> String {
    let each = pipeline.iter().filter_map(named).map(|(name, operand)| match (name, operand) {
        ("$match", Value::Map(filter)) => format!("{name} {}", all_of(filter).of_query()),
        ("$sort", sort) => format!("{name} {sort}"),
        (_, Value::String(text)) => format!("{name} {text}"),
        ("$unset", fields) => format!("{name} {fields}"),
        (_, Value::Map(fields)) => format!("{name} {}", of_fields(fields)),
        (_, operand) => format!("{name} {}", expression(operand)),
    });
    format!("[{}]", each.collect::<Vec<_>>().join(", "))
}

/// The fields of a stage.
fn of_fields(fields: &Map) -> String {
    let is_pipeline = |values: &[Value]| !values.is_empty() && values.iter().all(|stage| named(stage).is_some());
    let each = fields.iter().map(|(name, value)| {
        let shown = match (name.as_str().unwrap_or_default(), value) {
            (name, Value::String(text)) if NAMES.contains(&name) => text.to_string(),
            (_, Value::Array(values)) if is_pipeline(values) => shape(values),
            (_, value) => expression(value),
        };
        format!("{name}: {shown}")
    });
    format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
}

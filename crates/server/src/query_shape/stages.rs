//! Pipelines in query shapes.

use super::conditions::{all_of, expression};
use super::{Parts, required};
use alluvium::{Map, Value};
use alluvium_query::pipeline::stages::{self, HeadNeed, StageName, StageRow};
use std::collections::BTreeSet;

/// The part of a pipeline that is planned as a query: the leading filters and sort, and the fields that the following
/// stage needs.
pub(super) fn head(pipeline: &[Value]) -> Parts {
    let mut head = Parts::default();
    let mut filters = Vec::new();
    let mut rest = pipeline.iter().filter_map(known).peekable();
    let is = |row: Row, stage: StageName| row.is_some_and(|row| row.stage == stage);
    while let Some((_, _, Value::Map(filter))) = rest.next_if(|(row, ..)| is(*row, StageName::Match)) {
        filters.push(Value::Map(filter.clone()));
    }
    match filters.as_slice() {
        [] => {}
        [Value::Map(filter)] => head.filter = filter.clone(),
        _ => head.filter = Map::from([("$and", Value::Array(filters))]),
    }
    if let Some((_, _, Value::Map(sort))) = rest.next_if(|(row, ..)| is(*row, StageName::Sort)) {
        head.sort = sort.clone();
    }
    if let Some((Some(row), _, operand)) = rest.next() {
        head.needed = needed(row, operand);
    }
    head
}

/// The table row of a known stage; `None` for an unknown stage.
type Row = Option<&'static StageRow>;

/// A stage with its table row, its name and its operand.
fn known(stage: &Value) -> Option<(Row, &str, &Value)> {
    let (name, operand) = stages::parts(stage)?;
    Some((stages::find(name), name, operand))
}

/// The fields that a stage needs, if they influence the plan of the stages before it.
fn needed(row: &StageRow, operand: &Value) -> String {
    let name = row.name;
    match (row.head_need, operand) {
        (HeadNeed::Nothing, _) => String::new(),
        (HeadNeed::NoFields, _) => name.to_owned(),
        (HeadNeed::Paths, _) => {
            let mut fields = BTreeSet::new();
            add_paths(operand, &mut fields);
            format!("{name}({})", fields.into_iter().collect::<Vec<_>>().join(","))
        }
        (HeadNeed::Projection, Value::Map(projection)) => required(projection).join(","),
        (HeadNeed::Operand, operand) => operand.to_string(),
        (HeadNeed::Options(names), Value::Map(options)) => {
            let part = |name: &&str| options.get(name).map(Value::to_string).unwrap_or_default();
            format!("{name}({})", names.iter().map(part).collect::<Vec<_>>().join(","))
        }
        (HeadNeed::Projection | HeadNeed::Options(_), _) => String::new(),
    }
}

/// Adds the field paths in an expression.
fn add_paths(value: &Value, paths: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => map.iter().for_each(|(_, value)| add_paths(value, paths)),
        Value::Array(values) => values.iter().for_each(|value| add_paths(value, paths)),
        Value::String(text) if text.starts_with('$') => drop(paths.insert(text[1..].to_owned())),
        _ => {}
    }
}

/// The shape of all stages in their order, with the types of their values.
pub(super) fn shape(pipeline: &[Value]) -> String {
    let each = pipeline.iter().filter_map(known).map(|(row, name, operand)| {
        let stage = row.map(|row| row.stage);
        match (stage, operand) {
            (Some(StageName::Match), Value::Map(filter)) => format!("{name} {}", all_of(filter).of_query()),
            (Some(StageName::Sort | StageName::Unset), operand) => format!("{name} {operand}"),
            (_, Value::String(text)) => format!("{name} {text}"),
            (_, Value::Map(options)) => format!("{name} {}", of_options(row, options)),
            (_, operand) => format!("{name} {}", expression(operand)),
        }
    });
    format!("[{}]", each.collect::<Vec<_>>().join(", "))
}

/// The shape of the options of a stage, including pipelines in the options.
fn of_options(row: Row, options: &Map) -> String {
    let names = row.map_or(&[][..], |row| row.names);
    let is_pipeline = |name: &str| row.is_some_and(|row| row.has_pipeline_in(name));
    let each = options.iter().map(|(name, value)| {
        let shown = match (name.as_str().unwrap_or_default(), value) {
            (name, Value::String(text)) if names.contains(&name) => text.to_string(),
            (name, Value::Array(stages)) if is_pipeline(name) => shape(stages),
            (_, value) => expression(value),
        };
        format!("{name}: {shown}")
    });
    format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
}

//! Parsing of stages that make groups.

use super::super::accumulator::{self, Accumulator};
use super::super::each::Each;
use super::super::error::refuse;
use super::super::group::Group;
use super::super::stage::Stage;
use super::{Context, Result};
use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::expression::{Expression, Variables};
use crate::projection::Projection;
use crate::sort::Sort;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value};
use std::sync::Arc;

pub(super) fn group(_: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let Value::Map(map) = operand else {
        let found = operand.type_name();
        return refuse(ErrorCode::Location15947, format!("$group takes a map, this is of type {found}"));
    };
    let (mut id, mut only_field, mut fields) = (None, None, Map::new());
    for (name, value) in map.iter() {
        match name.as_str() {
            Some("_id") if id.is_some() => {
                return refuse(ErrorCode::Location15948, "$group has the field _id twice");
            }
            Some("_id") => {
                refuse_inclusion(value)?;
                id = Some(Expression::parse_in(value, context.variables)?);
                only_field = self::only_field(value);
            }
            Some("$doingMerge") => {
                return refuse(ErrorCode::Location17030, "$group has no option $doingMerge");
            }
            _ => fields.push(name.clone(), value.clone()),
        }
    }
    let Some(id) = id else {
        return refuse(
            ErrorCode::Location15955,
            "a group specification must include an _id, the expression to group by; with _id: null all documents are one group",
        );
    };
    let fields = accumulators(&fields, context.variables)?;
    let collation = context.variables.collation().cloned();
    out.push(Stage::Group(Arc::new(Group { id, fields, only_field, collation })));
    Ok(())
}

/// The name of the field, if `_id` is a map with exactly one field.
fn only_field(id: &Value) -> Option<Text> {
    match &id.as_map()?.entries[..] {
        [(Value::String(name), _)] if !name.starts_with('$') => Some(name.clone()),
        _ => None,
    }
}

/// Refuses an `_id` such as `{a: 1}`, which looks like a projection.
fn refuse_inclusion(id: &Value) -> Result<()> {
    let Value::Map(map) = id else { return Ok(()) };
    if map.iter().any(|(name, _)| starts_with_dollar(name)) {
        return Ok(());
    }
    match map.iter().find(|(_, value)| value.is_number() || matches!(value, Value::Bool(_))) {
        None => Ok(()),
        Some((name, _)) => refuse(
            ErrorCode::Location17390,
            format!("the _id of $group has the constant {name}: write \"$name\" for a field, or {{$literal: …}}"),
        ),
    }
}

/// Parses the fields of a group.
pub(super) fn accumulators(fields: &Map, variables: &Variables) -> Result<Vec<(Text, Accumulator)>> {
    let mut parsed: Vec<(Text, Accumulator)> = Vec::with_capacity(fields.len());
    for (name, value) in fields.iter() {
        let Some(name) = name.as_str() else {
            return refuse(ErrorCode::TypeMismatch, "the names of the fields of a group must be text");
        };
        if parsed.iter().any(|(known, _)| known.as_str() == name) {
            return refuse(ErrorCode::Location16406, format!("a group has the field '{name}' twice"));
        }
        parsed.push((Text::from(name), accumulator::accumulator(name, value, variables)?));
    }
    Ok(parsed)
}

/// A group that counts its documents.
fn counted(id: Expression, field: &str, collation: Option<&Collation>) -> Stage {
    let one = Expression::constant(Value::Int32(1));
    let count = Accumulator { name: "$sum", kind: accumulator::Kind::Sum, argument: one, collation: None };
    let fields = vec![(Text::from(field), count)];
    Stage::Group(Arc::new(Group { id, fields, only_field: None, collation: collation.cloned() }))
}

pub(super) fn count(_: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let Some(field) = operand.as_str() else {
        return refuse(ErrorCode::Location40156, "$count takes the name of the field that gets the number");
    };
    let wrong = match field {
        "" => Some((ErrorCode::Location40157, "cannot be empty")),
        field if field.starts_with('$') => Some((ErrorCode::Location40158, "cannot begin with a dollar sign")),
        field if field.contains('\0') => Some((ErrorCode::Location40159, "cannot have a zero character")),
        field if field.contains('.') => Some((ErrorCode::Location40160, "cannot have a dot")),
        "_id" => Some((ErrorCode::Location9039800, "cannot be _id")),
        _ => None,
    };
    if let Some((code, why)) = wrong {
        return refuse(code, format!("the field of $count {why}"));
    }
    out.push(counted(Expression::constant(Value::Null), field, None));
    let projection = Projection::parse_stage(&Map::from([("_id", 0)]), context.variables)?;
    out.push(Stage::Each(Each::Project("$count", Box::new(projection))));
    Ok(())
}

pub(super) fn sort_by_count(
    _: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    let is_operator = |map: &Map| map.len() == 1 && map.iter().all(|(name, _)| starts_with_dollar(name));
    match operand {
        Value::Map(map) if is_operator(map) => {}
        Value::Map(_) => return refuse(ErrorCode::Location40147, "the map of $sortByCount must be one operator"),
        Value::String(text) if text.starts_with('$') => {}
        Value::String(text) => {
            return refuse(
                ErrorCode::Location40148,
                format!("the path of $sortByCount begins with a dollar sign: write '${text}'"),
            );
        }
        other => {
            let found = other.type_name();
            return refuse(ErrorCode::Location40149, format!("$sortByCount takes a path or an operator, not {found}"));
        }
    }
    let id = Expression::parse_in(operand, context.variables)?;
    out.push(counted(id, "count", context.variables.collation()));
    out.push(Stage::Sort { sort: Sort::parse(&Map::from([("count", -1)]))?, limit: None });
    Ok(())
}

pub(super) fn starts_with_dollar(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name.starts_with('$'))
}

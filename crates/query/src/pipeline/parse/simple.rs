//! Parsing of stages that process each document separately, or count or sort documents.

use super::super::each::{Each, REDACTIONS, Unwind};
use super::super::error::refuse;
use super::super::options::Options;
use super::super::stage::Stage;
use super::{Context, Result};
use crate::code::ErrorCode;
use crate::dollar::is_dollar_name;
use crate::expression::Expression;
use crate::filter::Filter;
use crate::projection::Projection;
use crate::sort::Sort;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};

/// The operand of a stage that takes a map.
fn map<'v>(name: &str, operand: &'v Value, code: ErrorCode) -> Result<&'v Map> {
    match operand {
        Value::Map(map) => Ok(map),
        other => refuse(code, format!("{name} takes a map, this is of type {}", other.type_name())),
    }
}

/// The path of a field that a stage sets or reads.
pub(super) fn path(of: &str, text: &str) -> Result<FieldPath> {
    let Ok(path) = text.parse::<FieldPath>() else {
        return refuse(ErrorCode::of_path(text), format!("{text:?} is not a path of {of}"));
    };
    if let Some(name) = path.names().find(|name| is_dollar_name(name)) {
        return refuse(
            ErrorCode::DOLLAR,
            format!("the name '{name}' in the path '{text}' of {of} begins with a dollar sign"),
        );
    }
    Ok(path)
}

/// A whole number of at least zero.
fn count_of(name: &str, operand: &Value, code: ErrorCode) -> Result<u64> {
    let whole = if operand.is_number() { operand.as_i64() } else { None };
    match whole.and_then(|n| u64::try_from(n).ok()) {
        Some(n) => Ok(n),
        None => refuse(code, format!("{name} takes a whole number that is not negative, not {operand}")),
    }
}

pub(super) fn matching(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let filter = map(name, operand, ErrorCode::Location15959)?;
    out.push(Stage::Match(Filter::parse_in(filter, context.variables)?));
    Ok(())
}

pub(super) fn limit(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    match count_of(name, operand, ErrorCode::Location5107201)? {
        0 => refuse(ErrorCode::Location15958, "$limit must be above 0"),
        n => {
            out.push(Stage::Limit(n));
            Ok(())
        }
    }
}

pub(super) fn skip(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    out.push(Stage::Skip(count_of(name, operand, ErrorCode::Location5107200)?));
    Ok(())
}

pub(super) fn sort(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let sort = Sort::parse(map(name, operand, ErrorCode::Location15973)?)?.collated(context.variables.collation());
    if sort.is_empty() {
        return refuse(ErrorCode::Location15976, "$sort needs at least one field to sort by");
    }
    out.push(Stage::Sort { sort, limit: None });
    Ok(())
}

pub(super) fn sample(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::Location28745)?;
    if options.get("size").is_some_and(|size| !size.is_number()) {
        return refuse(ErrorCode::Location28746, "the size of $sample must be a number");
    }
    options.only(&["size"], ErrorCode::Location28748)?;
    let size = match options.required("size", ErrorCode::Location28749)? {
        Value::Decimal(size) => Some(size.to_f64().round_ties_even()),
        other => other.as_f64(),
    };
    match size.filter(|size| *size >= 1.0) {
        Some(size) => {
            out.push(Stage::Sample(size as u64));
            Ok(())
        }
        None => refuse(ErrorCode::Location28747, "the size of $sample must be above 0"),
    }
}

pub(super) fn project(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let projection = map(name, operand, ErrorCode::Location15969)?;
    if projection.is_empty() {
        return refuse(ErrorCode::Location51272, "$project needs at least one field");
    }
    let projection = Projection::parse_stage(projection, context.variables)?;
    out.push(Stage::Each(Each::Project(name, Box::new(projection))));
    Ok(())
}

pub(super) fn unset(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let paths: Vec<&Value> = match operand {
        Value::String(_) => vec![operand],
        Value::Array(paths) if paths.is_empty() => {
            return refuse(ErrorCode::Location31119, "$unset needs at least one field");
        }
        Value::Array(paths) => paths.iter().collect(),
        other => {
            let found = other.type_name();
            return refuse(
                ErrorCode::Location31002,
                format!("$unset takes a field or an array of fields, not {found}"),
            );
        }
    };
    let mut excluded = Map::new();
    for path in paths {
        match path.as_str() {
            Some(path) => excluded.push(path, 0),
            None => return refuse(ErrorCode::Location31120, "the fields of $unset must be text"),
        }
    }
    let projection = Projection::parse_stage(&excluded, context.variables)?;
    out.push(Stage::Each(Each::Project(name, Box::new(projection))));
    Ok(())
}

pub(super) fn add_fields(
    name: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    let fields = map(name, operand, ErrorCode::Location40272)?;
    let mut added: Vec<(FieldPath, Expression)> = Vec::with_capacity(fields.len());
    collect(name, "", fields, context, &mut added)?;
    for (at, (path, _)) in added.iter().enumerate() {
        if let Some((other, _)) =
            added[..at].iter().find(|(other, _)| other.starts_with(path) || path.starts_with(other))
        {
            return refuse(
                ErrorCode::Location40176,
                format!("{name} sets '{path}' and '{other}', of which one contains the other"),
            );
        }
    }
    out.push(Stage::Each(Each::Add(name, added)));
    Ok(())
}

/// Collects the fields of a map. A map without operators contains the fields below its own field.
fn collect(
    name: &'static str,
    parent: &str,
    fields: &Map,
    context: &Context<'_>,
    out: &mut Vec<(FieldPath, Expression)>,
) -> Result<()> {
    for (field, value) in fields.iter() {
        let field = field.as_str().unwrap_or_default();
        let full = if parent.is_empty() { field.to_owned() } else { format!("{parent}.{field}") };
        let full_path = path(name, &full)?;
        if !parent.is_empty() && field.contains('.') {
            let message = format!("the field '{field}' inside of '{parent}' has a dot: write maps in maps");
            return refuse(ErrorCode::Location40183, message);
        }
        match value {
            Value::Map(inner)
                if inner.len() > 1 && inner.iter().all(|(name, _)| name.as_str().is_some_and(is_dollar_name)) =>
            {
                return refuse(ErrorCode::Location40181, format!("the field '{full}' has more than one operator"));
            }
            Value::Map(inner)
                if !inner.is_empty() && !inner.iter().any(|(name, _)| name.as_str().is_some_and(is_dollar_name)) =>
            {
                collect(name, &full, inner, context, out)?;
            }
            value => out.push((full_path, Expression::parse_in(value, context.variables)?)),
        }
    }
    Ok(())
}

pub(super) fn replace_root(
    name: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::Location40229)?;
    options.only(&["newRoot"], ErrorCode::IDLUnknownField)?;
    replace_with(name, options.required("newRoot", ErrorCode::IDLFailedToParse)?, context, out)
}

pub(super) fn replace_with(
    name: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    out.push(Stage::Each(Each::Replace(name, Expression::parse_in(operand, context.variables)?)));
    Ok(())
}

pub(super) fn redact(_: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    // The whole document is a variable, because the expression is evaluated for parts of the document.
    let mut variables = context.variables.clone().unknown("ROOT");
    for (name, value) in REDACTIONS {
        variables = variables.with(name, Some(Value::from(value)));
    }
    out.push(Stage::Each(Each::Redact(Expression::parse_in(operand, &variables)?)));
    Ok(())
}

pub(super) fn unwind(name: &'static str, operand: &Value, _: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let (text, position, keeps_empty) = match operand {
        Value::String(text) => (text.as_str(), None, false),
        Value::Map(_) => {
            let options = Options::new(name, operand, ErrorCode::Location15981)?;
            options.only(&["path", "includeArrayIndex", "preserveNullAndEmptyArrays"], ErrorCode::Location28811)?;
            options.required("path", ErrorCode::Location28812)?;
            let text = options.required_text("path", ErrorCode::Location28808)?;
            let position = options.text("includeArrayIndex", ErrorCode::Location28810)?;
            (text, position, options.flag("preserveNullAndEmptyArrays", ErrorCode::Location28809)?)
        }
        other => {
            let found = other.type_name();
            return refuse(ErrorCode::Location15981, format!("$unwind takes a path or a map, this is of type {found}"));
        }
    };
    if text.is_empty() {
        return refuse(ErrorCode::Location28812, "$unwind needs a path");
    }
    let Some(array) = text.strip_prefix('$') else {
        return refuse(
            ErrorCode::Location28818,
            format!("the path of $unwind begins with a dollar sign: write '${}'", text.trim_start_matches('$')),
        );
    };
    let position = match position {
        Some("") => return refuse(ErrorCode::Location28810, "the includeArrayIndex of $unwind must be a field's name"),
        Some(field) if field.starts_with('$') => {
            return refuse(
                ErrorCode::Location28822,
                format!("the includeArrayIndex of $unwind is a name without dollar sign, not '{field}'"),
            );
        }
        Some(field) => Some(path(name, field)?),
        None => None,
    };
    out.push(Stage::Each(Each::Unwind(Unwind { path: path(name, array)?, position, keeps_empty })));
    Ok(())
}

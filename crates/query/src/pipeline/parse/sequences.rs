//! Parsing of `$setWindowFields`, `$densify` and `$fill`.

use super::super::densify;
use super::super::each::Each;
use super::super::error::refuse;
use super::super::options::Options;
use super::super::stage::Stage;
use super::super::window;
use super::{Context, Result, simple};
use crate::code::ErrorCode;
use alluvium_document::{Map, Value};
use std::sync::Arc;

pub(super) fn set_window_fields(
    _: &'static str,
    operand: &Value,
    context: &Context<'_>,
    out: &mut Vec<Stage>,
) -> Result<()> {
    out.push(Stage::Window(Arc::new(window::set_window_fields(operand, context.variables)?)));
    Ok(())
}

pub(super) fn densify(_: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    out.push(Stage::Densify(Arc::new(densify::densify(operand, context.variables.collation())?)));
    Ok(())
}

/// `$fill` becomes a `$setWindowFields` for the fields with a method, and a `$set` for the fields with a value.
pub(super) fn fill(name: &'static str, operand: &Value, context: &Context<'_>, out: &mut Vec<Stage>) -> Result<()> {
    let options = Options::new(name, operand, ErrorCode::FailedToParse)?;
    options.only(&["partitionBy", "partitionByFields", "sortBy", "output"], ErrorCode::IDLUnknownField)?;
    let Value::Map(output) = options.required("output", ErrorCode::IDLFailedToParse)? else {
        return refuse(ErrorCode::FailedToParse, "the output of $fill must be a map of fields");
    };
    if output.is_empty() {
        return refuse(ErrorCode::Location6050203, "the output of $fill needs at least one field");
    }
    let (mut by_method, mut by_value) = (Map::new(), Map::new());
    for (field, how) in output.iter() {
        let text = field.as_str().unwrap_or_default();
        let how = Options::new("a field of $fill", how, ErrorCode::Location6050200)?;
        how.only(&["value", "method"], ErrorCode::FailedToParse)?;
        let reference = Value::from(format!("${text}"));
        match (how.get("value"), how.text("method", ErrorCode::FailedToParse)?) {
            (Some(value), None) => {
                let filled = Value::Array(vec![reference, value.clone()]);
                by_value.push(text, Map::from([("$ifNull", filled)]));
            }
            (None, Some("locf")) => by_method.push(text, Map::from([("$locf", reference)])),
            (None, Some("linear")) => by_method.push(text, Map::from([("$linearFill", reference)])),
            (None, Some(other)) => {
                let message = format!("the method of $fill is 'linear' or 'locf', not '{other}'");
                return refuse(ErrorCode::Location6050202, message);
            }
            _ => return refuse(ErrorCode::Location6050201, format!("$fill of '{text}' needs either value or method")),
        }
    }
    if !by_method.is_empty() {
        let mut window = Map::from([("output", by_method)]);
        match (options.get("partitionBy"), options.get("partitionByFields")) {
            (None, None) => {}
            (Some(by), None) => window.push("partitionBy", by.clone()),
            (None, Some(Value::Array(fields))) => {
                let field = |field: &Value| field.as_str().map(|field| (field.replace('.', "_"), format!("${field}")));
                let fields: Map = fields.iter().filter_map(field).collect();
                window.push("partitionBy", fields);
            }
            _ => {
                let message = "$fill takes partitionBy, an expression, or partitionByFields, an array of fields";
                return refuse(ErrorCode::Location6050204, message);
            }
        }
        if let Some(sort) = options.get("sortBy") {
            window.push("sortBy", sort.clone());
        }
        out.push(Stage::Window(Arc::new(window::set_window_fields(&Value::Map(window), context.variables)?)));
    }
    if !by_value.is_empty() {
        let mut added = Vec::new();
        simple::add_fields("$fill", &Value::Map(by_value), context, &mut added)?;
        out.extend(added.into_iter().map(|stage| match stage {
            Stage::Each(Each::Add(_, fields)) => Stage::Each(Each::Add("$fill", fields)),
            other => other,
        }));
    }
    Ok(())
}

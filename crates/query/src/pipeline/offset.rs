//! Values at a distance from other values.

use super::error::PipelineError;
use crate::expression::{Expression, Scope};
use alluvium_document::{Map, Value};

/// The value at a distance from another one. The value is a number, or a date with a distance in units of time.
pub(super) fn offset(value: &Value, distance: &Value, unit: Option<&str>) -> Result<Value, PipelineError> {
    let constant = |value: &Value| Value::Map(Map::from([("$literal", value.clone())]));
    let sum = match unit {
        None => Map::from([("$add", Value::Array(vec![constant(value), constant(distance)]))]),
        Some(unit) => {
            let arguments =
                [("startDate", constant(value)), ("unit", Value::from(unit)), ("amount", constant(distance))];
            Map::from([("$dateAdd", Map::from(arguments))])
        }
    };
    let sum = Expression::parse(&Value::Map(sum))?;
    let nothing = Map::new();
    Ok(sum.evaluate(&mut Scope::of_map(&nothing))?.unwrap_or_default())
}

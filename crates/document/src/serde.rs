//! Values and serde: [`Value`] to and from any format, any type to and from [`Value`].
//!
//! In a foreign format the types that it lacks are written as canonical Extended JSON, and read back from it.
//! [`to_value`] and [`from_value`] keep every type as it is, also those of the `bson` crate.

mod de;
mod json;
mod ser;

pub use de::from_value;
pub use ser::to_value;

use crate::value::{Binary, Double, Map, Value};
use std::fmt;

/// Why a type and a value do not go together; the text comes from serde or from the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SerdeError(String);

impl serde::ser::Error for SerdeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        SerdeError(message.to_string())
    }
}

impl serde::de::Error for SerdeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        SerdeError(message.to_string())
    }
}

/// The canonical Extended JSON of a type that other formats lack: its first name and the map; None for what they have.
/// The maps inside hold strings and small integers only, but for a scope.
fn extended(value: &Value) -> Option<(&'static str, Map)> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let one = |name: &'static str, inner: Value| (name, Map { entries: vec![(name.into(), inner)] });
    Some(match value {
        Value::Double(Double(x)) if x.is_nan() => one("$numberDouble", "NaN".into()),
        Value::Double(Double(x)) if x.is_infinite() => {
            one("$numberDouble", if *x < 0.0 { "-Infinity" } else { "Infinity" }.into())
        }
        Value::Decimal(decimal) => one("$numberDecimal", decimal.to_string().into()),
        Value::Binary(Binary { subtype, bytes }) => {
            use base64::Engine;
            let text = base64::engine::general_purpose::STANDARD.encode(bytes);
            one("$binary", Map::from([("base64", text), ("subType", hex(&[*subtype]))]).into())
        }
        Value::ObjectId(id) => one("$oid", hex(id).into()),
        Value::DateTime(millis) => one("$date", Map::from([("$numberLong", millis.to_string())]).into()),
        Value::Timestamp(t) => one("$timestamp", Map::from([("t", t.time), ("i", t.increment)]).into()),
        Value::Regex(regex) => {
            let parts = [("pattern", regex.pattern.as_str()), ("options", regex.options.as_str())];
            one("$regularExpression", Map::from(parts).into())
        }
        Value::MinKey => one("$minKey", 1.into()),
        Value::MaxKey => one("$maxKey", 1.into()),
        Value::Undefined => one("$undefined", true.into()),
        Value::Symbol(text) => one("$symbol", text.as_str().into()),
        Value::Code(code) => {
            let (name, mut map) = one("$code", code.code.as_str().into());
            if let Some(scope) = &code.scope {
                map.push("$scope", scope.clone());
            }
            (name, map)
        }
        Value::DbPointer(pointer) => {
            let id = Map::from([("$oid", hex(&pointer.id))]);
            one("$dbPointer", Map::from([("$ref", pointer.namespace.as_str().into()), ("$id", Value::Map(id))]).into())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

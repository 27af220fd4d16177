//! Serde support: converts [`Value`] to and from any format, and any type to and from [`Value`].
//!
//! Typed collections use [`to_value`] and [`from_value`]. The type of a struct's field determines
//! the type of the document's field:
//!
//! | Rust type | stored as |
//! |---|---|
//! | `bool` | boolean |
//! | `i8` `i16` `i32` `u8` `u16` | integer of 32 bits |
//! | `i64` `u32` | integer of 64 bits |
//! | `u64` `i128` `u128` | integer of 64 bits, or a decimal where that is too small |
//! | `f32` `f64` | double |
//! | `char` `String` `&str` | text |
//! | `Option` | null for `None`, else the content |
//! | `()`, unit structs | null |
//! | sequences, sets, tuples | array; `Vec<u8>`, too (binary data: `serde_bytes`, [`crate::Binary`] in a [`Value`]) |
//! | structs | map, fields in the order of the struct |
//! | maps | map; keys that are integers, booleans or characters become text, and are read back from it |
//! | newtype structs | their content |
//! | enums | text for a variant without content, else a map of one entry, variant to content |
//! | [`Value`], [`Map`] | unchanged, with all types |
//! | `std::time::SystemTime` | date, in milliseconds; later than 1969 |
//! | types of the crate `bson` (`ObjectId`, `DateTime`, `Decimal128`, `Binary`, `Uuid`, …) | the same type |
//! | `serde_json::Value` | map, array or scalar; Extended JSON is not interpreted inside a struct |
//! | `chrono::DateTime<Utc>`, `chrono::DateTime<Local>`, `jiff::Timestamp` | date, in milliseconds: smaller units are dropped |
//! | `chrono::DateTime<FixedOffset>`, `jiff::Zoned`, dates and times without a zone | text |
//! | `uuid::Uuid` | binary data of subtype 4 |
//!
//! Reading accepts any numeric type that represents the value exactly, and decimals for floating point. For dates and
//! UUIDs, it also accepts their text. With the features `chrono`, `jiff` and `uuid`, these types can also be used as
//! values in filters and in [`doc!`], with the same meaning.
//!
//! Serde reads the content of `#[serde(flatten)]` and of most enums without knowing the types of fields. Dates of
//! `chrono` and `jiff` within these need `#[serde(with = "alluvium::serde::chrono")]` or `"alluvium::serde::jiff"`.
//!
//! [`doc!`]: crate::doc
//!
//! In other formats, values whose type the format lacks are written as canonical Extended JSON, and read from it.

#[cfg(feature = "chrono")]
pub mod chrono;
mod de;
mod foreign;
#[cfg(feature = "jiff")]
pub mod jiff;
mod json;
mod key;
mod row;
mod ser;
mod system_time;
mod top;
#[cfg(feature = "uuid")]
mod uuid;

pub use de::from_value;
pub(crate) use row::from_row;
pub use ser::to_value;
pub use top::{Given, InputError};
pub(crate) use top::{to_any_value, to_given, to_map};

use crate::value::{Binary, Double, Map, Value};
use std::fmt;

/// [`Value`] is serialized as a newtype struct with this name, which the serializer and deserializer of this crate
/// recognize. It is the name of a type, so data cannot imitate it.
const VALUE: &str = "$alluvium::Value";

/// Serde serializes `std::time::SystemTime` as a struct with this name.
const SYSTEM_TIME: &str = "SystemTime";

/// The milliseconds since 1970 of a date.
fn millis(value: &Value) -> Result<i64, SerdeError> {
    match value {
        Value::DateTime(millis) => Ok(*millis),
        other => Err(SerdeError(format!("expected a date, found {}", other.type_name()))),
    }
}

/// The error for a date that is out of range for another type.
fn out_of_range(millis: i64) -> SerdeError {
    SerdeError(format!("the date of {millis} milliseconds after 1970 is out of range"))
}

/// The reason why a type and a value do not match. The text is made by serde or by the type.
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

/// The canonical Extended JSON of a value whose type other formats lack: its first name and the map. `None` for other
/// types. The map contains only strings and small integers, except for a scope.
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

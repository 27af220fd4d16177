//! Types of other crates that are serialized as text, but stored as values of another type: dates of `chrono` and
//! `jiff`, and `uuid::Uuid`.
//!
//! Serde does not identify these types, and a trait that is implemented for all types of serde cannot have another
//! implementation for them. Therefore they are recognized by the names of their Rust types. If such a name changes, the
//! type is stored as text again.

use crate::json::date;
use crate::value::{Binary, Value};
use std::any::type_name;

/// The subtype of a UUID.
const UUID: u8 = 4;

/// The types whose text is only a moment. A type with an offset or a time zone is stored as text, because a date would
/// lose these.
const DATES: [&str; 3] = [
    "chrono::datetime::DateTime<chrono::offset::utc::Utc>",
    "chrono::datetime::DateTime<chrono::offset::local::Local>",
    "jiff::timestamp::Timestamp",
];

/// The value to store for `serialized`, the serialized form of a `T`.
#[inline]
pub(super) fn stored<T: ?Sized>(serialized: Value) -> Value {
    let name = type_name::<T>().trim_start_matches('&');
    let Value::String(text) = &serialized else { return serialized };
    if DATES.contains(&name) {
        return millis(text).map_or(serialized, Value::DateTime);
    }
    if name == "uuid::Uuid" { uuid(serialized) } else { serialized }
}

/// The milliseconds since 1970 of a date as text. `chrono` writes years of five digits with a sign, but without a
/// leading zero.
fn millis(text: &str) -> Option<i64> {
    let parsed = date::parse_lenient(text);
    parsed.or_else(|| date::parse_lenient(&format!("{}0{}", text.get(..1)?, text.get(1..)?)))
}

/// The binary value of a UUID as text.
pub(super) fn uuid(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let digits: String = text.chars().filter(|&c| c != '-').collect();
    match u128::from_str_radix(&digits, 16) {
        Ok(n) if digits.len() == 32 => Value::Binary(Binary { subtype: UUID, bytes: n.to_be_bytes().to_vec() }),
        _ => value,
    }
}

/// The text of a date, if the visitor `V` belongs to a type that expects text; `None` for other visitors.
pub(super) fn date_text<V>(millis: i64) -> Option<String> {
    let of_date = is_of::<V>("chrono::datetime::") || is_of::<V>("jiff::timestamp::");
    of_date.then(|| {
        let mut text = Vec::new();
        date::write(millis, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// True if the visitor `V` accepts the bytes of a binary value of this subtype instead of text.
pub(super) fn takes_bytes<V>(subtype: u8) -> bool {
    subtype == UUID && is_of::<V>("uuid::")
}

/// True if the type is defined in a module, or in a function of a type of that module.
fn is_of<V>(module: &str) -> bool {
    let name = type_name::<V>();
    name.strip_prefix('<').unwrap_or(name).starts_with(module)
}

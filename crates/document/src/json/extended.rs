//! MongoDB's Extended JSON v2: maps that represent other values.
//!
//! Accepts canonical and relaxed notation, and the older forms of `$date` and `$binary`.

use super::{Reason, date};
use crate::decimal::Decimal;
use crate::value::{Binary, Code, DbPointer, Map, Regex, Timestamp, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The names of Extended JSON, in no particular order.
const NAMES: [&str; 18] = [
    "$oid",
    "$date",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$binary",
    "$uuid",
    "$timestamp",
    "$regularExpression",
    "$minKey",
    "$maxKey",
    "$undefined",
    "$code",
    "$scope",
    "$symbol",
    "$dbPointer",
    // A part of the old form of `$binary`. Without `$binary`, it is an operator.
    "$type",
];

/// The entry of the list that equals `name`, if it is a name of Extended JSON.
fn known(name: &str) -> Option<&'static str> {
    NAMES[..NAMES.len() - 1].iter().copied().find(|known| *known == name)
}

/// True if a map with this name is parsed as another value.
pub(crate) fn is_extended(name: &str) -> bool {
    name.starts_with('$') && known(name).is_some()
}

/// The value that a map represents; the map itself if it has no name of Extended JSON.
///
/// # Errors
/// [`Reason::Extended`] if it has such a name and is malformed.
pub(crate) fn interpret(map: Map) -> Result<Value, Reason> {
    let Some(name) = map.entries.iter().find_map(|(key, _)| key.as_str().and_then(known)) else {
        return Ok(Value::Map(map));
    };
    let result = match name {
        "$binary" if map.contains("$type") => old_binary(&map),
        "$code" | "$scope" => code(map),
        _ if map.len() > 1 => Err("no other field may be beside it"),
        _ => match map.entries.into_iter().next() {
            Some((_, value)) => single(name, value),
            None => Err("it has no value"),
        },
    };
    result.map_err(|problem| Reason::Extended { name, problem })
}

/// A map of one entry with this name.
fn single(name: &str, value: Value) -> Result<Value, &'static str> {
    match (name, value) {
        ("$oid", Value::String(hex)) => object_id(&hex).map(Value::ObjectId),
        ("$oid", _) => Err("it must be 24 hexadecimal digits in a string"),
        ("$date", Value::String(text)) => date::parse(&text)
            .map(Value::DateTime)
            .ok_or("it is not an ISO 8601 date, such as 2024-05-01 or 2024-05-01T12:30:00Z"),
        ("$date", Value::Int32(millis)) => Ok(Value::DateTime(i64::from(millis))),
        ("$date", Value::Int64(millis)) => Ok(Value::DateTime(millis)),
        // The inner map may not have been interpreted yet. In JSON text it has been, because inner maps are interpreted
        // first.
        ("$date", Value::Map(inner)) => match interpret(inner) {
            Ok(Value::Int64(millis)) => Ok(Value::DateTime(millis)),
            _ => Err("it must be an ISO 8601 date in a string, or milliseconds"),
        },
        ("$date", _) => Err("it must be an ISO 8601 date in a string, or milliseconds"),
        ("$numberInt", Value::String(text)) => integer(&text).map(Value::Int32).ok_or("it is not a 32-bit integer"),
        ("$numberLong", Value::String(text)) => integer(&text).map(Value::Int64).ok_or("it is not a 64-bit integer"),
        ("$numberDouble", Value::String(text)) => double(&text).map(Value::from).ok_or("it is not a double"),
        ("$numberDecimal", Value::String(text)) => match text.parse::<Decimal>() {
            Ok(decimal) => Ok(Value::Decimal(decimal)),
            Err(_) => Err("it is not a decimal"),
        },
        ("$numberInt" | "$numberLong" | "$numberDouble" | "$numberDecimal", _) => Err("it must be a string"),
        ("$binary", Value::Map(inner)) => binary(&inner),
        ("$binary", _) => Err("it must be a map of base64 and subType"),
        ("$uuid", Value::String(text)) => uuid(&text),
        ("$uuid", _) => Err("it must be a string"),
        ("$timestamp", Value::Map(inner)) => timestamp(&inner),
        ("$timestamp", _) => Err("it must be a map of t and i"),
        ("$regularExpression", Value::Map(inner)) => regex(&inner),
        ("$regularExpression", _) => Err("it must be a map of pattern and options"),
        ("$minKey", Value::Int32(1)) => Ok(Value::MinKey),
        ("$maxKey", Value::Int32(1)) => Ok(Value::MaxKey),
        ("$minKey" | "$maxKey", _) => Err("it must be 1"),
        ("$undefined", Value::Bool(true)) => Ok(Value::Undefined),
        ("$undefined", _) => Err("it must be true"),
        ("$symbol", Value::String(text)) => Ok(Value::Symbol(text)),
        ("$symbol", _) => Err("it must be a string"),
        ("$dbPointer", Value::Map(inner)) => pointer(inner),
        ("$dbPointer", _) => Err("it must be a map of $ref and $id"),
        _ => Err("it is not known"),
    }
}

/// The two values of a map with exactly these two names, in either order.
fn both<'a>(map: &'a Map, first: &str, second: &str) -> Option<(&'a Value, &'a Value)> {
    Some((map.get(first)?, map.get(second)?)).filter(|_| map.len() == 2)
}

fn object_id(text: &str) -> Result<[u8; 12], &'static str> {
    hex(text.as_bytes()).ok_or("it must be 24 hexadecimal digits in a string")
}

pub(super) fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(bytes)
}

/// Parses digits with an optional minus, but not a plus.
fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

fn double(text: &str) -> Option<f64> {
    match text {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ if text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => text.parse().ok(),
        _ => None,
    }
}

fn base64(text: &str) -> Result<Vec<u8>, &'static str> {
    STANDARD.decode(text).map_err(|_| "the base64 text is not valid")
}

fn subtype(text: &str) -> Result<u8, &'static str> {
    let short = (1..=2).contains(&text.len()) && !text.starts_with('+');
    let parsed = u8::from_str_radix(text, 16).ok().filter(|_| short);
    parsed.ok_or("the subtype must be one or two hexadecimal digits")
}

fn binary(map: &Map) -> Result<Value, &'static str> {
    match both(map, "base64", "subType") {
        Some((Value::String(text), Value::String(kind))) => {
            Ok(Value::Binary(Binary { subtype: subtype(kind)?, bytes: base64(text)? }))
        }
        _ => Err("it must be a map of base64 and subType, both strings"),
    }
}

/// `{"$binary": "…", "$type": "00"}`, the form of version 1.
fn old_binary(map: &Map) -> Result<Value, &'static str> {
    match both(map, "$binary", "$type") {
        Some((Value::String(text), Value::String(kind))) => {
            Ok(Value::Binary(Binary { subtype: subtype(kind)?, bytes: base64(text)? }))
        }
        _ => Err("in the old form it must be base64 beside a $type, both strings"),
    }
}

/// Parses four dashes at the right positions and 32 hexadecimal digits.
fn uuid(text: &str) -> Result<Value, &'static str> {
    let bytes = text.as_bytes();
    let dashes = bytes.len() == 36 && [8, 13, 18, 23].iter().all(|&at| bytes[at] == b'-');
    let digits: Vec<u8> = bytes.iter().copied().filter(|&b| b != b'-').collect();
    match hex::<16>(&digits) {
        Some(bytes) if dashes => Ok(Value::Binary(Binary { subtype: 4, bytes: bytes.to_vec() })),
        _ => Err("it must be like 73ffd264-44b3-4c69-90e8-e7d1dfc035d4"),
    }
}

fn timestamp(map: &Map) -> Result<Value, &'static str> {
    let part = |value: &Value| match value {
        Value::Int32(n) => u32::try_from(*n).ok(),
        Value::Int64(n) => u32::try_from(*n).ok(),
        _ => None,
    };
    match both(map, "t", "i").and_then(|(t, i)| Some((part(t)?, part(i)?))) {
        Some((time, increment)) => Ok(Value::Timestamp(Timestamp { time, increment })),
        None => Err("it must be a map of t and i, both integers of 32 bits without sign"),
    }
}

fn regex(map: &Map) -> Result<Value, &'static str> {
    match both(map, "pattern", "options") {
        Some((Value::String(pattern), Value::String(options))) => {
            let mut sorted: Vec<char> = options.chars().collect();
            sorted.sort_unstable();
            let regex = Regex { pattern: pattern.to_string(), options: sorted.into_iter().collect() };
            Ok(Value::Regex(Box::new(regex)))
        }
        _ => Err("it must be a map of pattern and options, both strings"),
    }
}

fn code(mut map: Map) -> Result<Value, &'static str> {
    let len = map.len();
    match (map.remove("$code"), map.remove("$scope"), len) {
        (Some(Value::String(code)), None, 1) => Ok(Value::Code(Box::new(Code { code: code.into(), scope: None }))),
        (Some(Value::String(code)), Some(Value::Map(scope)), 2) => {
            Ok(Value::Code(Box::new(Code { code: code.into(), scope: Some(scope) })))
        }
        _ => Err("it must be $code with a string, alone or with a map as $scope"),
    }
}

fn pointer(mut map: Map) -> Result<Value, &'static str> {
    let len = map.len();
    let id = match map.remove("$id") {
        Some(Value::Map(inner)) => interpret(inner).ok(),
        other => other,
    };
    match (map.remove("$ref"), id, len) {
        (Some(Value::String(namespace)), Some(Value::ObjectId(id)), 2) => {
            Ok(Value::DbPointer(Box::new(DbPointer { namespace: namespace.into(), id })))
        }
        _ => Err("it must be a map of $ref, a string, and $id, an object id"),
    }
}

#[cfg(test)]
mod tests;

//! The printer: a value to JSON text.

use std::fmt;

use super::text::find_special;
use super::{date, parse_number};
use crate::decimal::Decimal;
use crate::value::{Binary, Double, Map, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The format of printed JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Format {
    /// True for canonical Extended JSON, which keeps every type; false for relaxed Extended JSON, which has plain
    /// numbers.
    pub canonical: bool,
    /// True for one field or element per line, indented by two spaces; false for a single line.
    pub pretty: bool,
}

impl Format {
    /// Relaxed, on one line.
    pub const RELAXED: Format = Format { canonical: false, pretty: false };
    /// Canonical, on one line.
    pub const CANONICAL: Format = Format { canonical: true, pretty: false };
    /// Relaxed, one field per line.
    pub const PRETTY: Format = Format { canonical: false, pretty: true };
}

/// The reason why a value has no JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrintError {
    /// JSON's field names are strings.
    #[error("a map with a key of type {0} cannot be written as JSON, where keys are strings")]
    Key(&'static str),
}

/// Appends `value` as JSON.
///
/// A value that [`super::parse`] returned is printed in the relaxed format with the same fields, order and numbers. A
/// map with field names of Extended JSON, which only BSON or a program can create, is printed unchanged; its text is
/// parsed as another value.
///
/// # Errors
/// [`PrintError`]; `out` is then unchanged.
pub fn print(value: &Value, format: Format, out: &mut Vec<u8>) -> Result<(), PrintError> {
    let before = out.len();
    let result = write_value(value, format, 0, out);
    if result.is_err() {
        out.truncate(before);
    }
    result
}

/// As [`print`](print()), for a map.
///
/// # Errors
/// [`PrintError`]; `out` is then unchanged.
pub fn print_map(map: &Map, format: Format, out: &mut Vec<u8>) -> Result<(), PrintError> {
    let before = out.len();
    let result = write_map(map, format, 0, out);
    if result.is_err() {
        out.truncate(before);
    }
    result
}

/// As [`print`](print()), to a string.
///
/// # Errors
/// [`PrintError`].
pub fn to_string(value: &Value, format: Format) -> Result<String, PrintError> {
    let mut out = Vec::with_capacity(128);
    print(value, format, &mut out)?;
    Ok(String::from_utf8(out).unwrap_or_default())
}

/// Relaxed Extended JSON on one line. If the value cannot be written as JSON, because a map has a key that is not a
/// string, the error is written in angle brackets; [`to_string`] returns the error instead.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match to_string(self, Format::RELAXED) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

/// As the [text of a value](Value#impl-Display-for-Value).
impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(128);
        match print_map(self, Format::RELAXED, &mut text) {
            Ok(()) => f.write_str(&String::from_utf8_lossy(&text)),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

/// Appends `text` in quotes, with only the escapes that JSON requires.
#[inline]
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let plain = find_special(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some(&special) = rest.get(plain) else { break };
        write_escape(special, out);
        rest = &rest[plain + 1..];
    }
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends an integer.
#[inline]
pub fn write_integer(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends a double as relaxed JSON: the shortest text that is parsed as the same double, always
/// with a point or an exponent; NaN and infinities as `{"$numberDouble":"NaN"}`.
#[inline]
pub fn write_double(x: f64, out: &mut Vec<u8>) {
    if x.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(x).as_bytes());
    } else {
        write_canonical_double(x, out);
    }
}

fn write_canonical_double(x: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"$numberDouble\":\"");
    if x.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if x.is_infinite() {
        out.extend_from_slice(if x < 0.0 { b"-Infinity" } else { b"Infinity" });
    } else {
        write_double(x, out);
    }
    out.extend_from_slice(b"\"}");
}

fn write_value(value: &Value, format: Format, level: usize, out: &mut Vec<u8>) -> Result<(), PrintError> {
    match value {
        Value::String(text) => write_string(text, out),
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Map(map) => write_map(map, format, level, out)?,
        Value::Array(elements) => write_array(elements, format, level, out)?,
        Value::Int32(n) if !format.canonical => write_integer(i64::from(*n), out),
        Value::Int64(n) if !format.canonical => write_integer(*n, out),
        Value::Double(Double(x)) if !format.canonical => write_double(*x, out),
        _ => write_extended(value, format, out)?,
    }
    Ok(())
}

/// Starts a line at `level`, if the format is pretty.
#[inline]
fn new_line(format: Format, level: usize, out: &mut Vec<u8>) {
    if format.pretty {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', 2 * level));
    }
}

fn write_array(elements: &[Value], format: Format, level: usize, out: &mut Vec<u8>) -> Result<(), PrintError> {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        new_line(format, level + 1, out);
        write_value(element, format, level + 1, out)?;
    }
    if !elements.is_empty() {
        new_line(format, level, out);
    }
    out.push(b']');
    Ok(())
}

fn write_map(map: &Map, format: Format, level: usize, out: &mut Vec<u8>) -> Result<(), PrintError> {
    out.push(b'{');
    for (index, (key, value)) in map.entries.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        new_line(format, level + 1, out);
        let Value::String(name) = key else { return Err(PrintError::Key(key.type_name())) };
        write_string(name, out);
        out.push(b':');
        if format.pretty {
            out.push(b' ');
        }
        write_value(value, format, level + 1, out)?;
    }
    if !map.is_empty() {
        new_line(format, level, out);
    }
    out.push(b'}');
    Ok(())
}

/// Appends a value of a type that JSON does not have, on one line in every format.
fn write_extended(value: &Value, format: Format, out: &mut Vec<u8>) -> Result<(), PrintError> {
    let mut quoted = |name: &str, text: &str| {
        out.extend_from_slice(b"{\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        write_string(text, out);
        out.push(b'}');
    };
    match value {
        Value::Int32(n) => quoted("$numberInt", itoa::Buffer::new().format(*n)),
        Value::Int64(n) => quoted("$numberLong", itoa::Buffer::new().format(*n)),
        Value::Symbol(text) => quoted("$symbol", text),
        Value::ObjectId(id) => quoted("$oid", &hex(id)),
        Value::Double(Double(x)) => write_canonical_double(*x, out),
        Value::Decimal(decimal) => match plain_number(decimal).filter(|_| !format.canonical) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => quoted("$numberDecimal", &decimal.to_string()),
        },
        Value::DateTime(millis) => write_date(*millis, format, out),
        Value::Binary(Binary { subtype, bytes }) => {
            let (text, kind) = (STANDARD.encode(bytes), hex(&[*subtype]));
            out.extend_from_slice(
                format!("{{\"$binary\":{{\"base64\":\"{text}\",\"subType\":\"{kind}\"}}}}").as_bytes(),
            );
        }
        Value::Timestamp(t) => {
            let text = format!("{{\"$timestamp\":{{\"t\":{},\"i\":{}}}}}", t.time, t.increment);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Regex(regex) => {
            out.extend_from_slice(b"{\"$regularExpression\":{\"pattern\":");
            write_string(&regex.pattern, out);
            out.extend_from_slice(b",\"options\":");
            write_string(&regex.options, out);
            out.extend_from_slice(b"}}");
        }
        Value::Code(code) => {
            out.extend_from_slice(b"{\"$code\":");
            write_string(&code.code, out);
            if let Some(scope) = &code.scope {
                out.extend_from_slice(b",\"$scope\":");
                write_map(scope, Format { pretty: false, ..format }, 0, out)?;
            }
            out.push(b'}');
        }
        Value::DbPointer(pointer) => {
            out.extend_from_slice(b"{\"$dbPointer\":{\"$ref\":");
            write_string(&pointer.namespace, out);
            out.extend_from_slice(format!(",\"$id\":{{\"$oid\":\"{}\"}}}}}}", hex(&pointer.id)).as_bytes());
        }
        Value::MinKey => out.extend_from_slice(b"{\"$minKey\":1}"),
        Value::MaxKey => out.extend_from_slice(b"{\"$maxKey\":1}"),
        // The caller has printed all other types.
        _ => out.extend_from_slice(b"{\"$undefined\":true}"),
    }
    Ok(())
}

fn write_date(millis: i64, format: Format, out: &mut Vec<u8>) {
    if !format.canonical && (0..=date::MAX_PLAIN).contains(&millis) {
        out.extend_from_slice(b"{\"$date\":\"");
        date::write(millis, out);
        out.extend_from_slice(b"\"}");
    } else {
        out.extend_from_slice(format!("{{\"$date\":{{\"$numberLong\":\"{millis}\"}}}}").as_bytes());
    }
}

/// The plain JSON number that is parsed as this identical decimal, if there is one.
fn plain_number(decimal: &Decimal) -> Option<String> {
    let reads_back = |text: &String| match parse_number(text) {
        Ok((Value::Decimal(read), taken)) => taken == text.len() && read == *decimal,
        _ => false,
    };
    // An integer in the range of int64 is parsed as a decimal only if it has an exponent and a double cannot represent
    // it.
    let text = decimal.to_string();
    if reads_back(&text) { Some(text) } else { Some(text + "E+0").filter(reads_back) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;

//! BSON: encodes and decodes documents, and converts values from and to those of the crate `bson`.
//!
//! The bytes are encoded and decoded directly, without the document type of the crate, which holds each name only once.
//! Names that occur twice are kept here, in order. Binary data of the old subtype 2 is held without its inner length.

use crate::decimal::Decimal;
use crate::value::{Binary, Code, DbPointer, Double, MAX_DEPTH, Map, Regex, Timestamp, Value};

#[cfg(feature = "bson")]
mod convert;
mod decode;
mod fit;

pub(crate) use decode::value_of;
pub use decode::{RawField, decode_document, decode_document_lossy, each_field, take_document, tree_bytes};
pub use fit::{fit, unfit};

pub(crate) mod tag {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATE_TIME: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const REGEX: u8 = 0x0b;
    pub const DB_POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7f;
    pub const MIN_KEY: u8 = 0xff;
}

pub use crate::value::LEVELS_MAX;

/// The binary subtype whose bytes begin with a second copy of their length.
const OLD_BINARY: u8 = 2;

/// The reason why a value cannot be encoded as BSON, or bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BsonError {
    /// The bytes end within a value.
    #[error("the BSON ends within a value")]
    Truncated,
    /// The bytes are not BSON.
    #[error("invalid BSON at byte {offset}: {problem}")]
    Invalid {
        /// The offset from the start of the bytes.
        offset: usize,
        /// The error.
        problem: &'static str,
    },
    /// The nesting exceeds the limit.
    #[error("the BSON nests deeper than {LEVELS_MAX} levels; documents nest at most {MAX_DEPTH}")]
    TooDeep,
    /// Names in BSON are strings.
    #[error("a map with a key of type {0} cannot be written as BSON, where keys are strings")]
    Key(&'static str),
    /// Names and regular expressions cannot contain a zero, because a zero ends them.
    #[error("a field name or regular expression with a zero character cannot be written as BSON")]
    Nul,
    /// A decimal has more than 34 digits, or an exponent out of range.
    #[error("a decimal does not fit BSON's decimal128 (34 digits, exponents -6176 to 6111)")]
    Decimal,
    /// A length does not fit 31 bits.
    #[error("a value is too large for BSON")]
    TooLarge,
    /// Decoding the result would give a different value.
    #[error("a {0} would not come back from BSON as it is")]
    Inexact(&'static str),
    /// A map has a name twice; the documents of the crate `bson` hold each name once.
    #[error("a field occurs twice in a map")]
    DuplicateField,
}

/// Appends `map` as a BSON document.
///
/// # Errors
/// [`BsonError`]; `out` is then unchanged.
pub fn encode_document(map: &Map, out: &mut Vec<u8>) -> Result<(), BsonError> {
    let before = out.len();
    let result = put_document(map, LEVELS_MAX, out);
    if result.is_err() {
        out.truncate(before);
    }
    result
}

fn put_document(map: &Map, depth: usize, out: &mut Vec<u8>) -> Result<(), BsonError> {
    let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
    let start = begin(out);
    for (key, value) in &map.entries {
        let Value::String(name) = key else { return Err(BsonError::Key(key.type_name())) };
        out.push(tag_of(value));
        put_cstring(name, out)?;
        put_value(value, depth, out)?;
    }
    out.push(0);
    finish(start, out)
}

fn put_array(elements: &[Value], depth: usize, out: &mut Vec<u8>) -> Result<(), BsonError> {
    let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
    let start = begin(out);
    for (index, value) in elements.iter().enumerate() {
        out.push(tag_of(value));
        out.extend_from_slice(itoa::Buffer::new().format(index).as_bytes());
        out.push(0);
        put_value(value, depth, out)?;
    }
    out.push(0);
    finish(start, out)
}

/// Reserves space for a length, which [`finish`] writes.
pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

pub(crate) fn finish(start: usize, out: &mut [u8]) -> Result<(), BsonError> {
    let len = i32::try_from(out.len() - start).map_err(|_| BsonError::TooLarge)?;
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

fn put_len(len: usize, out: &mut Vec<u8>) -> Result<(), BsonError> {
    let len = i32::try_from(len).map_err(|_| BsonError::TooLarge)?;
    out.extend_from_slice(&len.to_le_bytes());
    Ok(())
}

/// The position of the first zero, which ends a name. Names are short, and a vectorized search takes longer to begin.
#[inline]
pub(crate) fn find_zero(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit that is set is in the first byte that is zero.
        let zeros = word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080;
        if zeros != 0 {
            return Some(at * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    tail.iter().position(|byte| *byte == 0).map(|at| words.len() * 8 + at)
}

#[inline]
pub(crate) fn put_cstring(text: &str, out: &mut Vec<u8>) -> Result<(), BsonError> {
    if find_zero(text.as_bytes()).is_some() {
        return Err(BsonError::Nul);
    }
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

#[inline]
fn put_string(text: &str, out: &mut Vec<u8>) -> Result<(), BsonError> {
    put_len(text.len() + 1, out)?;
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

pub(crate) fn put_value(value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), BsonError> {
    match value {
        Value::Null | Value::Undefined | Value::MinKey | Value::MaxKey => {}
        Value::Bool(flag) => out.push(u8::from(*flag)),
        Value::Int32(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Int64(n) | Value::DateTime(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Double(Double(x)) => out.extend_from_slice(&x.to_le_bytes()),
        Value::Decimal(decimal) => {
            out.extend_from_slice(&decimal.to_decimal128().map_err(|_| BsonError::Decimal)?);
        }
        Value::String(text) | Value::Symbol(text) => put_string(text, out)?,
        Value::Map(map) => put_document(map, depth, out)?,
        Value::Array(elements) => put_array(elements, depth, out)?,
        Value::Binary(Binary { subtype, bytes }) => {
            let inner = if *subtype == OLD_BINARY { 4 } else { 0 };
            put_len(bytes.len() + inner, out)?;
            out.push(*subtype);
            if inner > 0 {
                put_len(bytes.len(), out)?;
            }
            out.extend_from_slice(bytes);
        }
        Value::ObjectId(id) => out.extend_from_slice(id),
        Value::Timestamp(Timestamp { time, increment }) => {
            out.extend_from_slice(&increment.to_le_bytes());
            out.extend_from_slice(&time.to_le_bytes());
        }
        Value::Regex(regex) => {
            put_cstring(&regex.pattern, out)?;
            put_cstring(&regex.options, out)?;
        }
        Value::Code(code) => match &code.scope {
            None => put_string(&code.code, out)?,
            Some(scope) => {
                let start = begin(out);
                put_string(&code.code, out)?;
                put_document(scope, depth, out)?;
                finish(start, out)?;
            }
        },
        Value::DbPointer(pointer) => {
            put_string(&pointer.namespace, out)?;
            out.extend_from_slice(&pointer.id);
        }
    }
    Ok(())
}

/// The type byte, which precedes a value's name.
pub(crate) fn tag_of(value: &Value) -> u8 {
    match value {
        Value::Double(_) => tag::DOUBLE,
        Value::String(_) => tag::STRING,
        Value::Map(_) => tag::DOCUMENT,
        Value::Array(_) => tag::ARRAY,
        Value::Binary(_) => tag::BINARY,
        Value::Undefined => tag::UNDEFINED,
        Value::ObjectId(_) => tag::OBJECT_ID,
        Value::Bool(_) => tag::BOOL,
        Value::DateTime(_) => tag::DATE_TIME,
        Value::Null => tag::NULL,
        Value::Regex(_) => tag::REGEX,
        Value::DbPointer(_) => tag::DB_POINTER,
        Value::Code(code) if code.scope.is_some() => tag::CODE_WITH_SCOPE,
        Value::Code(_) => tag::CODE,
        Value::Symbol(_) => tag::SYMBOL,
        Value::Int32(_) => tag::INT32,
        Value::Timestamp(_) => tag::TIMESTAMP,
        Value::Int64(_) => tag::INT64,
        Value::Decimal(_) => tag::DECIMAL,
        Value::MaxKey => tag::MAX_KEY,
        Value::MinKey => tag::MIN_KEY,
    }
}

/// The size of a value in BSON in bytes, without its type byte and name; for a map, the size of the
/// document.
///
/// Values that cannot be encoded are counted, too: a key that is not a string is counted like a value, and a decimal
/// beyond decimal128 by the length of its text.
pub fn bson_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Undefined | Value::MinKey | Value::MaxKey => 0,
        Value::Bool(_) => 1,
        Value::Int32(_) => 4,
        Value::Int64(_) | Value::DateTime(_) | Value::Double(_) | Value::Timestamp(_) => 8,
        Value::Decimal(decimal) if decimal.is_decimal128() => 16,
        Value::Decimal(decimal) => 5 + decimal.text_len(),
        Value::String(text) | Value::Symbol(text) => 5 + text.len(),
        Value::Map(map) => document_size(map),
        Value::Array(elements) => {
            let element = |(index, value): (usize, &Value)| 2 + decimal_digits(index) + bson_size(value);
            5 + elements.iter().enumerate().map(element).sum::<usize>()
        }
        Value::Binary(Binary { subtype: OLD_BINARY, bytes }) => 9 + bytes.len(),
        Value::Binary(Binary { bytes, .. }) => 5 + bytes.len(),
        Value::ObjectId(_) => 12,
        Value::Regex(regex) => 2 + regex.pattern.len() + regex.options.len(),
        Value::Code(code) => match &code.scope {
            None => 5 + code.code.len(),
            Some(scope) => 9 + code.code.len() + document_size(scope),
        },
        Value::DbPointer(pointer) => 17 + pointer.namespace.len(),
    }
}

/// The size of a map as a BSON document; see [`bson_size`].
pub fn document_size(map: &Map) -> usize {
    let field = |(key, value): &(Value, Value)| {
        let name = match key {
            Value::String(name) => name.len(),
            _ => bson_size(key),
        };
        2 + name + bson_size(value)
    };
    5 + map.entries.iter().map(field).sum::<usize>()
}

/// The number of decimal digits of `n`.
pub(crate) fn decimal_digits(n: usize) -> usize {
    n.checked_ilog10().map_or(1, |log| log as usize + 1)
}

#[cfg(test)]
mod tests;

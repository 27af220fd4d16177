//! The order-preserving encoding: comparing the bytes compares the values.
//!
//! `memcmp(key(a), key(b)) == compare(a, b)` for all values. A key starts with the rank of the type.
//! No key is a prefix of another, so keys of several values can be concatenated.
//!
//! - Number: the bits of the greatest double that is at most the number, transformed to sort as unsigned (all zero for
//!   NaN). The first two bytes are big-endian. Groups of seven bits follow, each in a byte whose lowest bit is set if
//!   another group follows. If the double equals the number, the groups end with the last group that has a bit set, or
//!   with the first group. Otherwise all seven groups are present, the last one indicates that more follows, and the
//!   decimal follows it: five bytes with the biased exponent of the first digit; two digits per byte, each pair plus
//!   one; a zero; all inverted for negative numbers. Two numbers between the same two doubles have the same sign.
//! - Map: for each field the rank of the value, the key of the name, the rest of the value's key; then 0. Array: the
//!   keys of the elements; then 0.
//! - String: [`alluvium_codec::key::put_bytes`]. Binary: length, subtype, bytes.
//!
//! The key does not contain properties that the order ignores: the type of a number, the scale of a decimal, the sign
//! of zero, and whether a string is a symbol.

use crate::compare::{rank, type_rank};
use crate::decimal::Decimal;
use crate::value::{Binary, Code, DbPointer, Double, MAX_DEPTH, Map, Regex, Timestamp, Value};
use alluvium_codec::key::TOO_DEEP;
use alluvium_codec::{DecodeError, Result, key};

pub use alluvium_codec::key::skip;

/// Added to the exponent of the first digit to make it positive; exponents are within ±2^34.
const PLACE_BIAS: i64 = 1 << 39;

/// The maximum number of zeros that the decoder appends to a large integer. Beyond it, the decimal has an exponent.
const MAX_ZEROS: i64 = 64;

/// The bytes that are reserved for the key of an `_id`, and of one that is a map.
const KEY_BYTES: usize = 24;
const MAP_KEY_BYTES: usize = 96;

/// The reason why a value cannot be an `_id`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Arrays, regular expressions and undefined are refused, as in MongoDB.
    #[error("_id cannot be of type {0}")]
    Type(&'static str),
    /// The value nests deeper than [`MAX_DEPTH`].
    #[error("_id nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A field in the value begins with a dollar sign and is not a field of a reference (`$ref`, `$id`, `$db`). A
    /// filter could not express such an `_id`.
    #[error("the field '{0}' in _id begins with a dollar sign")]
    Dollar(String),
}

/// Appends the key of `value`. A value that [is too deep](Value::is_too_deep) is encoded, but
/// cannot be decoded.
#[inline]
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    out.push(type_rank(value));
    encode_rest(value, out);
}

/// The key of an `_id`.
///
/// # Errors
/// [`IdError`] if the value cannot be an `_id`.
pub fn id_key(value: &Value) -> std::result::Result<Vec<u8>, IdError> {
    match value {
        Value::Array(_) | Value::Regex(_) | Value::Undefined => return Err(IdError::Type(value.type_name())),
        Value::Map(_) | Value::Code(_) if value.is_too_deep() => return Err(IdError::TooDeep),
        Value::Map(map) => {
            dollar_field(map).map_or(Ok(()), |name| Err(IdError::Dollar(name.to_owned())))?;
        }
        _ => {}
    }
    let mut out = Vec::with_capacity(if matches!(value, Value::Map(_)) { MAP_KEY_BYTES } else { KEY_BYTES });
    encode(value, &mut out);
    Ok(out)
}

/// The first field name in a map that begins with a dollar sign, except names of references, as in MongoDB.
fn dollar_field(map: &Map) -> Option<&str> {
    let is_reference = map.entries.first().is_some_and(|(name, _)| name.as_str() == Some("$ref"));
    map.entries.iter().find_map(|(name, value)| match name.as_str() {
        Some(name) if name.starts_with('$') && !(is_reference && matches!(name, "$ref" | "$id" | "$db")) => Some(name),
        _ => dollar_field_in(value),
    })
}

fn dollar_field_in(value: &Value) -> Option<&str> {
    match value {
        Value::Map(map) => dollar_field(map),
        Value::Array(elements) => elements.iter().find_map(dollar_field_in),
        _ => None,
    }
}

/// A hash of the value's key: equal values have equal hashes. It is part of the disk format and
/// never changes.
pub fn hash(value: &Value) -> u64 {
    let mut out = Vec::with_capacity(24);
    encode(value, &mut out);
    alluvium_codec::hash64(&out)
}

fn encode_rest(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Int32(n) => put_exact(out, f64::from(*n)),
        Value::Int64(n) => put_integer(out, *n),
        Value::Double(Double(x)) => put_exact(out, *x),
        Value::Decimal(decimal) => put_decimal(out, decimal),
        Value::String(text) | Value::Symbol(text) => key::put_bytes(out, text.as_bytes()),
        Value::Map(map) => put_map(out, map),
        Value::Array(elements) => {
            elements.iter().for_each(|element| encode(element, out));
            out.push(0);
        }
        Value::Binary(Binary { subtype, bytes }) => {
            put_len(out, bytes.len());
            out.push(*subtype);
            out.extend_from_slice(bytes);
        }
        Value::ObjectId(id) => out.extend_from_slice(id),
        Value::Bool(flag) => out.push(u8::from(*flag)),
        Value::DateTime(millis) => key::put_u64(out, *millis as u64 ^ 1 << 63),
        Value::Timestamp(Timestamp { time, increment }) => {
            key::put_u64(out, u64::from(*time) << 32 | u64::from(*increment));
        }
        Value::Regex(regex) => {
            key::put_bytes(out, regex.pattern.as_bytes());
            key::put_bytes(out, regex.options.as_bytes());
        }
        Value::DbPointer(pointer) => {
            put_len(out, pointer.namespace.len());
            out.extend_from_slice(pointer.namespace.as_bytes());
            out.extend_from_slice(&pointer.id);
        }
        Value::Code(code) => {
            key::put_bytes(out, code.code.as_bytes());
            if let Some(scope) = &code.scope {
                put_map(out, scope);
            }
        }
        Value::MinKey | Value::Undefined | Value::Null | Value::MaxKey => {}
    }
}

fn put_map(out: &mut Vec<u8>, map: &Map) {
    for (name, value) in &map.entries {
        out.push(type_rank(value));
        encode(name, out);
        encode_rest(value, out);
    }
    out.push(0);
}

/// Appends a length such that shorter values sort first: one byte below 255, otherwise 255 and
/// eight bytes.
fn put_len(out: &mut Vec<u8>, len: usize) {
    match u8::try_from(len) {
        Ok(len) if len < 255 => out.push(len),
        _ => {
            out.push(255);
            key::put_u64(out, len as u64);
        }
    }
}

/// The bits of a double, transformed to sort as unsigned; 0 for NaN.
#[inline]
fn sorting_bits(x: f64) -> u64 {
    if x.is_nan() { 0 } else { key::f64_bits(x) }
}

#[inline]
fn put_exact(out: &mut Vec<u8>, x: f64) {
    key::put_number(out, sorting_bits(x));
}

fn put_integer(out: &mut Vec<u8>, n: i64) {
    let nearest = n as f64;
    match (nearest as i128).cmp(&i128::from(n)) {
        std::cmp::Ordering::Equal => put_exact(out, nearest),
        std::cmp::Ordering::Less => put_inexact(out, nearest, &Decimal::from(n)),
        std::cmp::Ordering::Greater => put_inexact(out, nearest.next_down(), &Decimal::from(n)),
    }
}

fn put_decimal(out: &mut Vec<u8>, decimal: &Decimal) {
    let (floor, exact) = decimal.floor_f64();
    if exact { put_exact(out, floor) } else { put_inexact(out, floor, decimal) }
}

/// Appends a finite number that is above `floor` and below the next double.
fn put_inexact(out: &mut Vec<u8>, floor: f64, decimal: &Decimal) {
    let bits = sorting_bits(floor);
    out.extend_from_slice(&[(bits >> 56) as u8, (bits >> 48) as u8]);
    let rest = bits << 16;
    out.extend((0..key::GROUPS).map(|group| ((rest << (7 * group)) >> 57) as u8 * 2 + 1));
    // Only a finite number can be between two doubles.
    let (negative, digits, exponent) = decimal.normalized_parts().unwrap_or((false, "0", 0));
    let start = out.len();
    let place = exponent + digits.len() as i64 - 1;
    out.extend_from_slice(&((place + PLACE_BIAS) as u64).to_be_bytes()[3..]);
    for pair in digits.as_bytes().chunks(2) {
        let low = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + low + 1);
    }
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Decodes a key at the start of `input` to its natural value.
///
/// A whole number becomes a [`Value::Int32`] or, if it does not fit, a [`Value::Int64`]. Any other number becomes a
/// [`Value::Double`] if it equals a double, otherwise a [`Value::Decimal`]. A string becomes a [`Value::String`].
///
/// # Errors
/// [`DecodeError`] if the bytes are not a key.
pub fn decode(input: &mut &[u8]) -> Result<Value> {
    let rank = take_byte(input)?;
    decode_rest(rank, input, MAX_DEPTH)
}

fn decode_rest(rank: u8, input: &mut &[u8], depth: usize) -> Result<Value> {
    Ok(match rank {
        rank::MIN_KEY => Value::MinKey,
        rank::UNDEFINED => Value::Undefined,
        rank::NULL => Value::Null,
        rank::NUMBER => take_number(input)?,
        rank::STRING => Value::String(take_text(input)?.into()),
        rank::MAP => Value::Map(take_map(input, deeper(depth)?)?),
        rank::ARRAY => {
            let depth = deeper(depth)?;
            let mut elements = Vec::new();
            loop {
                match take_byte(input)? {
                    0 => break Value::Array(elements),
                    rank => elements.push(decode_rest(rank, input, depth)?),
                }
            }
        }
        rank::BINARY => {
            let len = take_len(input)?;
            let subtype = take_byte(input)?;
            Value::Binary(Binary { subtype, bytes: take(input, len)?.to_vec() })
        }
        rank::OBJECT_ID => Value::ObjectId(take_id(input)?),
        rank::BOOL => match take_byte(input)? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            _ => return Err(DecodeError::Invalid("a boolean in a key")),
        },
        rank::DATE_TIME => Value::DateTime((key::get_u64(input)? ^ 1 << 63) as i64),
        rank::TIMESTAMP => {
            let both = key::get_u64(input)?;
            Value::Timestamp(Timestamp { time: (both >> 32) as u32, increment: both as u32 })
        }
        rank::REGEX => {
            let pattern = take_text(input)?;
            Value::Regex(Box::new(Regex { pattern, options: take_text(input)? }))
        }
        rank::DB_POINTER => {
            let len = take_len(input)?;
            let namespace = text(take(input, len)?.to_vec())?;
            Value::DbPointer(Box::new(DbPointer { namespace, id: take_id(input)? }))
        }
        rank::CODE => Value::Code(Box::new(Code { code: take_text(input)?, scope: None })),
        rank::CODE_WITH_SCOPE => {
            let code = take_text(input)?;
            let scope = Some(take_map(input, deeper(depth)?)?);
            Value::Code(Box::new(Code { code, scope }))
        }
        rank::MAX_KEY => Value::MaxKey,
        _ => return Err(DecodeError::Invalid("an unknown type in a key")),
    })
}

fn take_map(input: &mut &[u8], depth: usize) -> Result<Map> {
    let mut map = Map::new();
    loop {
        let rank = take_byte(input)?;
        if rank == 0 {
            return Ok(map);
        }
        let name_rank = take_byte(input)?;
        let name = decode_rest(name_rank, input, depth)?;
        map.entries.push((name, decode_rest(rank, input, depth)?));
    }
}

fn take_number(input: &mut &[u8]) -> Result<Value> {
    let invalid = DecodeError::Invalid("a number in a key");
    let (bits, exact) = key::get_number(input)?;
    let floor = key::f64_from_bits(bits);
    match exact {
        true if bits == 0 => Ok(Value::Double(Double(f64::NAN))),
        true if !floor.is_nan() => Ok(natural_double(floor)),
        false if !floor.is_nan() => take_decimal(floor < 0.0, input),
        _ => Err(invalid),
    }
}

fn natural_double(x: f64) -> Value {
    match Value::Double(Double(x)).as_i64() {
        Some(n) => natural_integer(n),
        None => Value::Double(Double(x)),
    }
}

fn natural_integer(n: i64) -> Value {
    i32::try_from(n).map_or(Value::Int64(n), Value::Int32)
}

fn take_decimal(negative: bool, input: &mut &[u8]) -> Result<Value> {
    let invalid = DecodeError::Invalid("a decimal in a key");
    let flip = if negative { 0xff } else { 0 };
    let mut place = 0;
    for &byte in take(input, 5)? {
        place = place << 8 | i64::from(byte ^ flip);
    }
    let mut digits = String::new();
    loop {
        match take_byte(input)? ^ flip {
            0 => break,
            pair @ 1..=100 => {
                digits.push(char::from(b'0' + (pair - 1) / 10));
                digits.push(char::from(b'0' + (pair - 1) % 10));
            }
            _ => return Err(invalid),
        }
    }
    let digits = digits.trim_end_matches('0');
    let exponent = place - PLACE_BIAS - digits.len() as i64 + 1;
    let decimal = if (1..=MAX_ZEROS).contains(&exponent) {
        Decimal::from_parts(negative, &format!("{digits}{}", "0".repeat(exponent as usize)), 0)
    } else {
        Decimal::from_parts(negative, digits, exponent)
    };
    let decimal = decimal.map_err(|_| invalid)?;
    Ok(decimal.to_i64().map_or(Value::Decimal(decimal), natural_integer))
}

fn take_byte(input: &mut &[u8]) -> Result<u8> {
    let (&byte, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(byte)
}

fn take<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (bytes, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(bytes)
}

fn take_len(input: &mut &[u8]) -> Result<usize> {
    match take_byte(input)? {
        255 => usize::try_from(key::get_u64(input)?).map_err(|_| DecodeError::Truncated),
        len => Ok(usize::from(len)),
    }
}

fn take_id(input: &mut &[u8]) -> Result<[u8; 12]> {
    let (id, rest) = input.split_first_chunk::<12>().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(*id)
}

fn take_text(input: &mut &[u8]) -> Result<String> {
    let mut bytes = Vec::new();
    key::get_bytes(input, &mut bytes)?;
    text(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| DecodeError::Invalid("a string in a key that is not UTF-8"))
}

fn deeper(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or(DecodeError::Invalid(TOO_DEEP))
}

#[cfg(test)]
mod tests;

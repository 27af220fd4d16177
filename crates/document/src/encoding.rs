//! The self-describing encoding: values that can be decoded without context.
//!
//! The first byte is `(nibble << 4) | code`. For most codes the nibble is the value or the length; if the nibble is 15,
//! a variable-length integer with the value or length follows. Codes 1 to 9 never change.

use crate::decimal::Decimal;
use crate::value::{Binary, Code, DbPointer, Double, LEVELS_MAX, Map, Regex, Timestamp, Value};
use alluvium_codec::{DecodeError, Result, varint};

/// The error for bytes that nest deeper than [`LEVELS_MAX`].
const TOO_DEEP: &str = "more than 200 levels";

/// Bytes with a subtype: length, subtype, bytes.
pub const BINARY: u8 = 0;
/// Null.
pub const NULL: u8 = 1;
/// True.
pub const TRUE: u8 = 2;
/// False.
pub const FALSE: u8 = 3;
/// An integer of at least 0: of 32 bits if it fits, otherwise of 64 bits.
pub const POSITIVE: u8 = 4;
/// The magnitude of an integer below 0: of 32 bits if it fits, otherwise of 64 bits.
pub const NEGATIVE: u8 = 5;
/// A decimal: length, text.
pub const DECIMAL: u8 = 6;
/// A string: length, UTF-8.
pub const STRING: u8 = 7;
/// An array: count, elements.
pub const ARRAY: u8 = 8;
/// A map: count, then alternating keys and values.
pub const MAP: u8 = 9;
/// A double: nibbles 0 to 14 are the value itself; after nibble 15, eight bytes follow, little-endian.
pub const DOUBLE: u8 = 10;
/// A 64-bit integer whose value fits 32 bits, in zigzag encoding.
pub const LONG: u8 = 11;
/// An object id: 12 bytes.
pub const OBJECT_ID: u8 = 12;
/// Milliseconds since 1970, in zigzag encoding.
pub const DATE_TIME: u8 = 13;
/// A map with a shape, only in rows: shape number, length of the rest, the values.
pub const SHAPED: u8 = 14;
/// The nibble names a rarer type.
pub const ESCAPE: u8 = 15;

const TIMESTAMP: u8 = 0;
const REGEX: u8 = 1;
const MIN_KEY: u8 = 2;
const MAX_KEY: u8 = 3;
const UNDEFINED: u8 = 4;
const CODE: u8 = 5;
const CODE_WITH_SCOPE: u8 = 6;
const SYMBOL: u8 = 7;
const DB_POINTER: u8 = 8;
const DECIMAL_SPECIAL: u8 = 9;

const NAN: u8 = 0;
const INFINITY: u8 = 1;
const NEG_INFINITY: u8 = 2;
const NEG_ZERO: u8 = 3;

/// The maximum number of elements for which memory is allocated before they are read, so that a forged count cannot
/// claim much memory.
const MAX_RESERVE: usize = 64;

/// Appends a first byte with `code`. `n` is in its nibble, or follows it.
#[inline]
pub fn put_head(out: &mut Vec<u8>, code: u8, n: u64) {
    if n < 15 {
        out.push((n as u8) << 4 | code);
    } else {
        out.push(0xf0 | code);
        varint::put_u64(out, n);
    }
}

/// Appends a string value.
#[inline]
pub fn put_str(out: &mut Vec<u8>, text: &str) {
    put_head(out, STRING, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends an integer in its natural width: an integer that fits 32 bits is decoded as [`Value::Int32`].
#[inline]
pub fn put_integer(out: &mut Vec<u8>, n: i64) {
    if n >= 0 {
        put_head(out, POSITIVE, n as u64);
    } else {
        put_head(out, NEGATIVE, n.unsigned_abs());
    }
}

/// Appends a double.
#[inline]
pub fn put_double(out: &mut Vec<u8>, x: f64) {
    let small = x as u8;
    if small < 15 && f64::from(small).to_bits() == x.to_bits() {
        out.push(small << 4 | DOUBLE);
    } else {
        out.push(0xf0 | DOUBLE);
        out.extend_from_slice(&x.to_le_bytes());
    }
}

/// Appends `value`.
///
/// A value deeper than [`LEVELS_MAX`] is encoded, but cannot be decoded.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(true) => out.push(TRUE),
        Value::Bool(false) => out.push(FALSE),
        Value::Int32(n) => put_integer(out, i64::from(*n)),
        Value::Int64(n) if i32::try_from(*n).is_ok() => put_head(out, LONG, varint::zigzag(*n)),
        Value::Int64(n) => put_integer(out, *n),
        Value::Double(Double(x)) => put_double(out, *x),
        Value::Decimal(decimal) => encode_decimal(decimal, out),
        Value::String(text) => put_str(out, text),
        Value::Binary(binary) => {
            put_head(out, BINARY, binary.bytes.len() as u64);
            out.push(binary.subtype);
            out.extend_from_slice(&binary.bytes);
        }
        Value::Array(elements) => {
            put_head(out, ARRAY, elements.len() as u64);
            elements.iter().for_each(|element| encode(element, out));
        }
        Value::Map(map) => encode_map(map, out),
        Value::ObjectId(id) => {
            out.push(OBJECT_ID);
            out.extend_from_slice(id);
        }
        Value::DateTime(millis) => put_head(out, DATE_TIME, varint::zigzag(*millis)),
        _ => encode_rare(value, out),
    }
}

/// Appends `map` as a value.
pub fn encode_map(map: &Map, out: &mut Vec<u8>) {
    put_head(out, MAP, map.entries.len() as u64);
    for (key, value) in &map.entries {
        encode(key, out);
        encode(value, out);
    }
}

fn encode_decimal(decimal: &Decimal, out: &mut Vec<u8>) {
    let special = |out: &mut Vec<u8>, kind| out.extend_from_slice(&[DECIMAL_SPECIAL << 4 | ESCAPE, kind]);
    match decimal.parts() {
        Some((true, "0", exponent)) => {
            special(out, NEG_ZERO);
            varint::put_i64(out, exponent);
        }
        Some(_) => {
            let mut text = Vec::with_capacity(48);
            decimal.write_text(&mut text);
            put_head(out, DECIMAL, text.len() as u64);
            out.extend_from_slice(&text);
        }
        None if decimal.is_nan() => special(out, NAN),
        None if decimal.is_negative() => special(out, NEG_INFINITY),
        None => special(out, INFINITY),
    }
}

fn encode_rare(value: &Value, out: &mut Vec<u8>) {
    let escape = |out: &mut Vec<u8>, name: u8| out.push(name << 4 | ESCAPE);
    match value {
        Value::Timestamp(Timestamp { time, increment }) => {
            escape(out, TIMESTAMP);
            out.extend_from_slice(&time.to_be_bytes());
            out.extend_from_slice(&increment.to_be_bytes());
        }
        Value::Regex(regex) => {
            escape(out, REGEX);
            varint::put_bytes(out, regex.pattern.as_bytes());
            varint::put_bytes(out, regex.options.as_bytes());
        }
        Value::MinKey => escape(out, MIN_KEY),
        Value::MaxKey => escape(out, MAX_KEY),
        Value::Code(code) => {
            escape(out, if code.scope.is_some() { CODE_WITH_SCOPE } else { CODE });
            varint::put_bytes(out, code.code.as_bytes());
            if let Some(scope) = &code.scope {
                encode_map(scope, out);
            }
        }
        Value::Symbol(text) => {
            escape(out, SYMBOL);
            varint::put_bytes(out, text.as_bytes());
        }
        Value::DbPointer(pointer) => {
            escape(out, DB_POINTER);
            varint::put_bytes(out, pointer.namespace.as_bytes());
            out.extend_from_slice(&pointer.id);
        }
        // The type is undefined, because the caller has handled all other types.
        _ => escape(out, UNDEFINED),
    }
}

/// Decodes maps that were encoded with a shape.
pub trait Shapes {
    /// Decodes the map with shape `number` from the values in `row`. `depth` is the number of
    /// further levels that it may nest. Values inside are decoded with [`decode_with`] and that
    /// depth.
    ///
    /// # Errors
    /// [`DecodeError`] if the shape is unknown or the bytes are not a row of it.
    fn decode_shaped(&self, number: u64, row: &[u8], depth: usize) -> Result<Map>;
}

/// Decodes no maps with shapes: such a map is an error.
pub struct NoShapes;

impl Shapes for NoShapes {
    fn decode_shaped(&self, _: u64, _: &[u8], _: usize) -> Result<Map> {
        Err(DecodeError::Invalid("a map under a shape outside a row"))
    }
}

/// Decodes a value from the start of `input`.
///
/// # Errors
/// [`DecodeError`] if the bytes are not a value, or it is deeper than [`LEVELS_MAX`].
pub fn decode(input: &mut &[u8]) -> Result<Value> {
    decode_with(input, LEVELS_MAX, &NoShapes)
}

/// As [`decode`], with the shapes of a row, and at most `depth` levels.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_with<S: Shapes + ?Sized>(input: &mut &[u8], depth: usize, shapes: &S) -> Result<Value> {
    let (code, nibble) = take_head(input)?;
    Ok(match code {
        NULL => Value::Null,
        TRUE => Value::Bool(true),
        FALSE => Value::Bool(false),
        POSITIVE => positive(number(nibble, input)?)?,
        NEGATIVE => negative(number(nibble, input)?)?,
        STRING => Value::String(take_text(take_len(nibble, input)?, input)?),
        DOUBLE if nibble < 15 => Value::Double(Double(f64::from(nibble))),
        DOUBLE => Value::Double(Double(f64::from_le_bytes(take_array(input)?))),
        LONG => {
            let n = varint::unzigzag(number(nibble, input)?);
            if i32::try_from(n).is_err() {
                return Err(DecodeError::Invalid("a short 64-bit integer that does not fit 32 bits"));
            }
            Value::Int64(n)
        }
        ARRAY => {
            let depth = deeper(depth)?;
            let count = take_count(nibble, 1, input)?;
            let mut elements = Vec::with_capacity(count.min(MAX_RESERVE));
            for _ in 0..count {
                elements.push(decode_with(input, depth, shapes)?);
            }
            Value::Array(elements)
        }
        MAP => {
            let depth = deeper(depth)?;
            let count = take_count(nibble, 2, input)?;
            let mut entries = Vec::with_capacity(count.min(MAX_RESERVE));
            for _ in 0..count {
                let key = decode_with(input, depth, shapes)?;
                entries.push((key, decode_with(input, depth, shapes)?));
            }
            Value::Map(Map { entries })
        }
        SHAPED => {
            let shape = number(nibble, input)?;
            let row = varint::get_bytes(input)?;
            Value::Map(shapes.decode_shaped(shape, row, deeper(depth)?)?)
        }
        BINARY => {
            let len = take_len(nibble, input)?;
            let [subtype] = take_array(input)?;
            Value::Binary(Binary { subtype, bytes: take(len, input)?.to_vec() })
        }
        DECIMAL => decode_decimal(take_len(nibble, input)?, input)?,
        OBJECT_ID => Value::ObjectId(take_array(input)?),
        DATE_TIME => Value::DateTime(varint::unzigzag(number(nibble, input)?)),
        _ => decode_rare(nibble, input, depth, shapes)?,
    })
}

fn decode_rare<S: Shapes + ?Sized>(name: u8, input: &mut &[u8], depth: usize, shapes: &S) -> Result<Value> {
    Ok(match name {
        TIMESTAMP => {
            let time = u32::from_be_bytes(take_array(input)?);
            let increment = u32::from_be_bytes(take_array(input)?);
            Value::Timestamp(Timestamp { time, increment })
        }
        REGEX => {
            let pattern = counted_text(input)?;
            Value::Regex(Box::new(Regex { pattern, options: counted_text(input)? }))
        }
        MIN_KEY => Value::MinKey,
        MAX_KEY => Value::MaxKey,
        UNDEFINED => Value::Undefined,
        CODE => Value::Code(Box::new(Code { code: counted_text(input)?, scope: None })),
        CODE_WITH_SCOPE => {
            let code = counted_text(input)?;
            // The level counts for the map. Only a map may follow, because other values would not count as a level and
            // could nest without limit.
            if !input.first().is_some_and(|first| matches!(first & 15, MAP | SHAPED)) {
                return Err(DecodeError::Invalid("a scope that is not a map"));
            }
            match decode_with(input, depth, shapes)? {
                Value::Map(scope) => Value::Code(Box::new(Code { code, scope: Some(scope) })),
                _ => return Err(DecodeError::Invalid("a scope that is not a map")),
            }
        }
        SYMBOL => Value::Symbol(counted_text(input)?),
        DB_POINTER => {
            let namespace = counted_text(input)?;
            Value::DbPointer(Box::new(DbPointer { namespace, id: take_array(input)? }))
        }
        DECIMAL_SPECIAL => Value::Decimal(match take_array(input)? {
            [NAN] => Decimal::NAN,
            [INFINITY] => Decimal::INFINITY,
            [NEG_INFINITY] => Decimal::NEG_INFINITY,
            [NEG_ZERO] => Decimal::from_parts(true, "0", varint::get_i64(input)?)
                .map_err(|_| DecodeError::Invalid("the exponent of a decimal"))?,
            _ => return Err(DecodeError::Invalid("an unknown special decimal")),
        }),
        _ => return Err(DecodeError::Invalid("an unknown type")),
    })
}

/// Skips a value at the start of `input` without decoding it. Strings are not validated.
///
/// # Errors
/// [`DecodeError`] if the structure is not one that [`encode`] writes.
pub fn skip(input: &mut &[u8]) -> Result<()> {
    // Not recursive, because it suffices to count the remaining values.
    let mut pending = 1usize;
    while pending > 0 {
        let (code, nibble) = take_head(input)?;
        pending = more(pending - 1, skip_behind(code, nibble, input)?)?;
    }
    Ok(())
}

/// Calls `note` with the number of each shape used by the values in `input`, at any depth.
pub(crate) fn each_shape(mut input: &[u8], note: &mut dyn FnMut(u64)) -> Result<()> {
    // The contents of arrays, maps and maps with shapes follow like other values.
    while !input.is_empty() {
        let (code, nibble) = take_head(&mut input)?;
        if code == SHAPED {
            note(number(nibble, &mut input)?);
            varint::get_u64(&mut input)?;
        } else {
            skip_behind(code, nibble, &mut input)?;
        }
    }
    Ok(())
}

/// Skips the bytes after a first byte, and returns the number of values that follow as its content.
#[inline]
fn skip_behind(code: u8, nibble: u8, input: &mut &[u8]) -> Result<usize> {
    match code {
        NULL | TRUE | FALSE => {}
        POSITIVE | NEGATIVE | LONG | DATE_TIME => drop(number(nibble, input)?),
        STRING | DECIMAL => {
            let len = take_len(nibble, input)?;
            take(len, input)?;
        }
        BINARY => {
            let len = take_len(nibble, input)?;
            take(1, input)?;
            take(len, input)?;
        }
        DOUBLE if nibble < 15 => {}
        DOUBLE => drop(take(8, input)?),
        OBJECT_ID => drop(take(12, input)?),
        ARRAY => return take_count(nibble, 1, input),
        MAP => return Ok(2 * take_count(nibble, 2, input)?),
        SHAPED => {
            number(nibble, input)?;
            varint::get_bytes(input)?;
        }
        _ => return skip_rare(nibble, input),
    }
    Ok(0)
}

/// Skips a value of a rare type, and returns the number of values that follow as its content.
fn skip_rare(name: u8, input: &mut &[u8]) -> Result<usize> {
    match name {
        TIMESTAMP => drop(take(8, input)?),
        MIN_KEY | MAX_KEY | UNDEFINED => {}
        REGEX => {
            varint::get_bytes(input)?;
            varint::get_bytes(input)?;
        }
        CODE | SYMBOL => drop(varint::get_bytes(input)?),
        CODE_WITH_SCOPE => {
            varint::get_bytes(input)?;
            return Ok(1);
        }
        DB_POINTER => {
            varint::get_bytes(input)?;
            take(12, input)?;
        }
        DECIMAL_SPECIAL => {
            let [kind] = take_array(input)?;
            if kind == NEG_ZERO {
                varint::get_i64(input)?;
            }
        }
        _ => return Err(DecodeError::Invalid("an unknown type")),
    }
    Ok(0)
}

#[inline]
fn more(pending: usize, count: usize) -> Result<usize> {
    pending.checked_add(count).ok_or(DecodeError::Truncated)
}

/// Reads a first byte: the code and the nibble.
///
/// # Errors
/// [`DecodeError::Truncated`] at the end of the input.
#[inline]
pub fn take_head(input: &mut &[u8]) -> Result<(u8, u8)> {
    let (&first, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok((first & 15, first >> 4))
}

/// The number that a nibble represents: the nibble itself, or the number that follows.
///
/// # Errors
/// [`DecodeError`] if no number follows.
#[inline]
pub fn number(nibble: u8, input: &mut &[u8]) -> Result<u64> {
    if nibble < 15 { Ok(u64::from(nibble)) } else { varint::get_u64(input) }
}

#[inline]
fn take_len(nibble: u8, input: &mut &[u8]) -> Result<usize> {
    usize::try_from(number(nibble, input)?).map_err(|_| DecodeError::Truncated)
}

/// Reads a count of items of at least `each` bytes, and checks that the input is long enough.
#[inline]
fn take_count(nibble: u8, each: usize, input: &mut &[u8]) -> Result<usize> {
    let count = take_len(nibble, input)?;
    if count > input.len() / each { Err(DecodeError::Truncated) } else { Ok(count) }
}

#[inline]
fn take<'a>(len: usize, input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let (bytes, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(bytes)
}

#[inline]
fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N]> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(*bytes)
}

#[inline]
fn take_text<T: for<'a> From<&'a str>>(len: usize, input: &mut &[u8]) -> Result<T> {
    text(take(len, input)?).map(T::from)
}

fn counted_text<T: for<'a> From<&'a str>>(input: &mut &[u8]) -> Result<T> {
    text(varint::get_bytes(input)?).map(T::from)
}

#[inline]
fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::Invalid("a string that is not UTF-8"))
}

#[inline]
fn deeper(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or(DecodeError::Invalid(TOO_DEEP))
}

#[inline]
fn positive(n: u64) -> Result<Value> {
    match i32::try_from(n) {
        Ok(small) => Ok(Value::Int32(small)),
        Err(_) => i64::try_from(n).map(Value::Int64).map_err(|_| DecodeError::Invalid("an integer beyond 64 bits")),
    }
}

#[inline]
fn negative(magnitude: u64) -> Result<Value> {
    let n = match 0i64.checked_sub_unsigned(magnitude) {
        Some(n) if n < 0 => n,
        _ => return Err(DecodeError::Invalid("a negative integer out of range")),
    };
    Ok(i32::try_from(n).map_or(Value::Int64(n), Value::Int32))
}

fn decode_decimal(len: usize, input: &mut &[u8]) -> Result<Value> {
    let invalid = DecodeError::Invalid("a decimal");
    let decimal: Decimal = text(take(len, input)?)?.parse().map_err(|_| invalid)?;
    match decimal.parts() {
        Some((true, "0", _)) | None => Err(invalid),
        Some(_) => Ok(Value::Decimal(decimal)),
    }
}

#[cfg(test)]
mod tests;

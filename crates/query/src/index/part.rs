//! The key of one part. A long key is cut.
//!
//! A cut key has no mark. It is recognized as follows: no key of a part is a prefix of another, so
//! the first [`MAX_PART_BYTES`] bytes of a longer key contain no complete key. Therefore a key that
//! does not end within these bytes is cut, and [`CUT_HASH_BYTES`] bytes follow.

use super::{CUT_HASH_BYTES, MAX_PART_BYTES, Order};
use alluvium_codec::{DecodeError, hash128};
use alluvium_document::{Map, Value, key};

/// Appends the encoded key of one part without cutting it.
pub(crate) fn put_part(value: &Value, order: Order, out: &mut Vec<u8>) {
    match order {
        Order::Ascending => key::encode(value, out),
        Order::Descending => {
            let start = out.len();
            key::encode(value, out);
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Order::Hashed => out.extend_from_slice(&key::hash(value).to_be_bytes()),
    }
}

/// Appends the key of one part in the form used in entries. Returns true if the key is cut.
pub(crate) fn put_index_part(value: &Value, order: Order, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    put_part(value, order, out);
    let end = start + MAX_PART_BYTES;
    let Some(rest) = out.get(end..).filter(|rest| !rest.is_empty()) else { return false };
    let hash = hash128(rest);
    out.truncate(end);
    out.extend_from_slice(&hash.to_be_bytes());
    true
}

/// Appends the key of a part, or only its first bytes if it is long. Returns false if it is long. In that case keys of
/// greater values and keys of lesser values may begin with the same bytes.
pub(crate) fn put_edge(value: &Value, order: Order, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    put_part(value, order, out);
    let is_whole = out.len() <= start + MAX_PART_BYTES;
    out.truncate(start + MAX_PART_BYTES);
    is_whole
}

/// Skips the key of one part of an entry. Returns true if the key is cut.
///
/// # Errors
/// [`DecodeError`] if the bytes do not begin with the key of a part.
#[inline]
pub fn skip_part(rest: &mut &[u8], order: Order) -> Result<bool, DecodeError> {
    if order == Order::Hashed {
        *rest = rest.get(8..).ok_or(DecodeError::Truncated)?;
        return Ok(false);
    }
    let head = rest.get(..MAX_PART_BYTES).unwrap_or(rest);
    let mut left = head;
    match key::skip(&mut left, order == Order::Descending) {
        Ok(()) => {
            *rest = &rest[head.len() - left.len()..];
            Ok(false)
        }
        Err(DecodeError::Truncated) => {
            *rest = rest.get(MAX_PART_BYTES + CUT_HASH_BYTES..).ok_or(DecodeError::Truncated)?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// True if the key of the value is cut.
pub(crate) fn is_long(value: &Value) -> bool {
    if most_bytes(value) <= MAX_PART_BYTES {
        return false;
    }
    let mut bytes = Vec::new();
    key::encode(value, &mut bytes);
    bytes.len() > MAX_PART_BYTES
}

/// An upper bound for the length of the value's key.
fn most_bytes(value: &Value) -> usize {
    // A zero byte of a text takes two bytes.
    let text = |text: &str| 2 * text.len() + 3;
    match value {
        Value::String(it) | Value::Symbol(it) => text(it),
        Value::Binary(binary) => binary.bytes.len() + 16,
        Value::Array(elements) => elements.iter().map(most_bytes).fold(2, usize::saturating_add),
        Value::Map(map) => of_map(map),
        Value::Regex(regex) => text(&regex.pattern) + text(&regex.options),
        Value::DbPointer(pointer) => pointer.namespace.len() + 32,
        Value::Code(code) => text(&code.code).saturating_add(code.scope.as_ref().map_or(0, of_map)),
        Value::Decimal(_) => 128,
        _ => 32,
    }
}

fn of_map(map: &Map) -> usize {
    let each = map.entries.iter().map(|(name, value)| most_bytes(name).saturating_add(most_bytes(value)) + 1);
    each.fold(2, usize::saturating_add)
}

#[cfg(test)]
mod tests;

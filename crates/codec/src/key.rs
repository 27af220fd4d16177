//! Order-preserving encodings of the pieces of a key: comparing the bytes compares the values.

use crate::error::{DecodeError, Result};

pub mod rank;
mod skip;

pub use skip::skip;

/// The most levels that arrays, maps and scopes in a key may nest: MongoDB's limit for stored documents.
pub const MAX_DEPTH: usize = 180;

/// The error for bytes that nest deeper than [`MAX_DEPTH`].
pub const TOO_DEEP: &str = "more than 180 levels";

/// The most groups of seven bits after the first two bytes of a number.
pub const GROUPS: u32 = 7;

/// Appends bytes so that the encoded strings sort like the plain ones, and a string sorts before every longer string
/// that begins with it. Each 0x00 becomes 0x00 0xFF, and 0x00 0x01 ends the string.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    // Without this, appending the end marker would reallocate, and so double the memory of long bytes.
    out.reserve(bytes.len() + 2);
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&b| b == 0) {
        out.extend_from_slice(&rest[..=at]);
        out.push(0xff);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 1]);
}

/// Takes bytes written by [`put_bytes`] from the front of `input`, appending them to `out`.
///
/// # Errors
/// [`DecodeError`] if the end is missing or an escape is unknown.
pub fn get_bytes(input: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    loop {
        let at = input.iter().position(|&b| b == 0).ok_or(DecodeError::Truncated)?;
        out.extend_from_slice(&input[..at]);
        match input.get(at + 1) {
            Some(0xff) => out.push(0),
            Some(1) => {
                *input = &input[at + 2..];
                return Ok(());
            }
            Some(_) => return Err(DecodeError::Invalid("an unknown escape in a key")),
            None => return Err(DecodeError::Truncated),
        }
        *input = &input[at + 2..];
    }
}

/// The bits of a double that is not NaN, mapped so that their unsigned order is numeric order. -0.0 sorts as 0.0.
pub fn f64_bits(value: f64) -> u64 {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// The inverse of [`f64_bits`].
pub fn f64_from_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Appends a number that is exactly the double with these bits ([`f64_bits`], or 0 for NaN), without the rank before
/// it: the first two bytes, then groups of seven bits up to the last nonzero group, at least one. The lowest bit of
/// each group's byte is 1 if another group follows.
#[inline]
pub fn put_number(out: &mut Vec<u8>, bits: u64) {
    let (bytes, len) = number_bytes(bits);
    out.extend_from_slice(&bytes.to_be_bytes()[..len]);
}

/// The bytes that [`put_number`] appends, most significant first, and their count.
#[inline(always)]
pub fn number_bytes(bits: u64) -> (u128, usize) {
    // 49 bits in seven groups, the last bit a zero.
    let rest = bits << 1 & ((1 << 49) - 1);
    let groups = if rest == 0 { 1 } else { GROUPS - rest.trailing_zeros() / 7 };
    let mut spread = 0;
    for group in 0..GROUPS {
        // Group 0 is at the top of `rest` and at the top of `spread`.
        spread |= (rest >> (42 - 7 * group) & 0x7f) << (57 - 8 * group);
    }
    // The lowest bit of every group except the last.
    let more = !(u64::MAX >> (8 * (groups - 1))) & 0x0101_0101_0101_0101;
    (u128::from(bits >> 48) << 112 | u128::from(spread | more) << 48, 2 + groups as usize)
}

/// Takes a number written by [`put_number`] from the front of `input`. Returns the bits, and true if the number is
/// exactly that double. Otherwise all groups are present, and the decimal of the number follows.
///
/// # Errors
/// [`DecodeError`] if the bytes end within the number, or are not an output of [`put_number`].
#[inline]
pub fn get_number(input: &mut &[u8]) -> Result<(u64, bool)> {
    let (&[first, second], mut rest) = input.split_first_chunk().ok_or(DecodeError::Truncated)?;
    let mut bits = u64::from(first) << 56 | u64::from(second) << 48;
    for group in 0..GROUPS {
        let (&byte, after) = rest.split_first().ok_or(DecodeError::Truncated)?;
        rest = after;
        bits |= (u64::from(byte >> 1) << 57) >> (16 + 7 * group);
        if byte & 1 == 0 {
            // A group of zero bits is valid only as the first, or in a number that is not a double.
            if byte == 0 && group > 0 || group == GROUPS - 1 && byte & 2 != 0 {
                return Err(DecodeError::Invalid("a number in a key"));
            }
            *input = rest;
            return Ok((bits, true));
        }
    }
    *input = rest;
    Ok((bits, false))
}

/// Appends an unsigned integer, most significant byte first.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Takes an integer written by [`put_u64`].
///
/// # Errors
/// [`DecodeError::Truncated`] if fewer than 8 bytes are left.
pub fn get_u64(input: &mut &[u8]) -> Result<u64> {
    let (bytes, rest) = input.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests;

//! Unsigned variable-length integers: seven bits per byte, low group first; a set high bit means that more bytes
//! follow.
//!
//! See `docs/FORMAT.md`. Signed values are zigzag-encoded first.

use crate::error::{DecodeError, Result};

/// The longest encoding of a 64-bit value, in bytes.
pub const MAX_LEN: usize = 10;

/// Appends `value`.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed `value`, zigzag-encoded.
#[inline]
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    put_u64(out, zigzag(value));
}

/// The number of bytes that [`put_u64`] appends for `value`.
#[inline]
pub fn len_u64(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Takes a value from the front of `input`.
///
/// # Errors
/// [`DecodeError`] if the input ends within the value or the value does not fit 64 bits.
#[inline]
pub fn get_u64(input: &mut &[u8]) -> Result<u64> {
    match input.first() {
        Some(&byte) if byte < 0x80 => {
            *input = &input[1..];
            Ok(u64::from(byte))
        }
        _ => get_u64_slow(input),
    }
}

fn get_u64_slow(input: &mut &[u8]) -> Result<u64> {
    match input.first_chunk().and_then(|word| short(u64::from_le_bytes(*word))) {
        Some((value, len)) => {
            *input = &input[len..];
            Ok(value)
        }
        None => get_u64_bytewise(input),
    }
}

/// The value at the start of eight bytes, and its length; `None` if it is longer.
#[inline]
fn short(word: u64) -> Option<(u64, usize)> {
    let last = !word & 0x8080_8080_8080_8080;
    if last == 0 {
        return None;
    }
    // The bits up to the first byte without a high bit, in groups of 7, which are moved together in pairs.
    let groups = word & (last ^ (last - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
    let groups = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let groups = groups & 0x0000_3fff_0000_3fff | (groups & 0x3fff_0000_3fff_0000) >> 2;
    let value = groups & 0x0fff_ffff | (groups & 0x0fff_ffff_0000_0000) >> 4;
    Some((value, last.trailing_zeros() as usize / 8 + 1))
}

fn get_u64_bytewise(input: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for (at, &byte) in input.iter().take(MAX_LEN).enumerate() {
        let group = u64::from(byte & 0x7f);
        if at == MAX_LEN - 1 && byte > 1 {
            return Err(DecodeError::Invalid("an integer of more than 64 bits"));
        }
        value |= group << (7 * at);
        if byte < 0x80 {
            *input = &input[at + 1..];
            return Ok(value);
        }
    }
    Err(DecodeError::Truncated)
}

/// Takes a signed value written by [`put_i64`] from the front of `input`.
///
/// # Errors
/// As [`get_u64`].
#[inline]
pub fn get_i64(input: &mut &[u8]) -> Result<i64> {
    get_u64(input).map(unzigzag)
}

/// Takes a length and that many bytes from the front of `input`.
///
/// # Errors
/// As [`get_u64`], and [`DecodeError::Truncated`] if fewer bytes are left.
#[inline]
pub fn get_bytes<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let len = get_u64(input)?;
    let len = usize::try_from(len).map_err(|_| DecodeError::Truncated)?;
    let (bytes, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(bytes)
}

/// Appends the length of `bytes`, then `bytes`.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Maps small magnitudes of either sign to small unsigned values.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests;

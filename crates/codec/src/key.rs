//! Order-preserving encodings of the pieces of a key: comparing the bytes compares the values.

use crate::{DecodeError, Result};

/// Appends bytes so that they sort as they are and end before anything longer:
/// each 0x00 becomes 0x00 0xFF, and 0x00 0x01 ends the string.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
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

/// The bits of a double, not NaN, such that unsigned order is numeric order. -0.0 sorts as 0.0.
pub fn f64_bits(value: f64) -> u64 {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// The inverse of [`f64_bits`].
pub fn f64_from_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
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

//! Checked frames: length, checksum, payload. Manifests and catalogue files are made of them.
//!
//! `u32 length, u32 checksum32(payload, seed ^ offset), payload`, little-endian. The caller chooses the seed (the
//! number of the file); the offset is the position of the frame in the file.

use crate::checksum::checksum32;
use crate::error::{DecodeError, Result};

/// The bytes before a payload.
pub const HEADER_LEN: usize = 8;

/// Appends a frame that will be stored at `offset` of a file with `seed`.
///
/// # Errors
/// [`DecodeError::Invalid`] if the payload is 4 GiB or more.
pub fn put(out: &mut Vec<u8>, payload: &[u8], seed: u64, offset: u64) -> Result<()> {
    let len = u32::try_from(payload.len()).map_err(|_| DecodeError::Invalid("a frame over 4 GiB"))?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&checksum32(payload, frame_seed(seed, offset, len)).to_le_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

/// Takes the frame at the front of `input`, which is at `offset` of its file.
///
/// # Errors
/// [`DecodeError::Truncated`] if the input ends within the frame, [`DecodeError::Invalid`] if the checksum does not
/// match.
pub fn get<'a>(input: &mut &'a [u8], seed: u64, offset: u64) -> Result<&'a [u8]> {
    let (header, rest) = input.split_first_chunk::<HEADER_LEN>().ok_or(DecodeError::Truncated)?;
    let len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let sum = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let (payload, rest) = rest.split_at_checked(len as usize).ok_or(DecodeError::Truncated)?;
    if checksum32(payload, frame_seed(seed, offset, len)) != sum {
        return Err(DecodeError::Invalid("the checksum does not match"));
    }
    *input = rest;
    Ok(payload)
}

fn frame_seed(seed: u64, offset: u64, len: u32) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset ^ (u64::from(len) << 32)
}

#[cfg(test)]
mod tests;

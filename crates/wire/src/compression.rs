//! `OP_COMPRESSED`: another message, compressed.

use crate::cursor::Cursor;
use crate::error::WireError;
use crate::header::{HEADER_BYTES, Header, MAX_MESSAGE_BYTES, OpCode};
use std::io::{Read, Write};

/// The zlib level, which is MongoDB's default.
const ZLIB_LEVEL: u32 = 6;
/// The zstd level, which is MongoDB's default.
const ZSTD_LEVEL: i32 = 3;

/// A way of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressor {
    /// No compression; no client asks for it.
    Noop,
    /// Snappy.
    Snappy,
    /// Zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Compressor {
    /// The compressors that a client may ask for.
    pub const ALL: [Self; 3] = [Self::Snappy, Self::Zlib, Self::Zstd];

    /// The name, as clients ask for it in `hello`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// The compressor with this name, if a client may ask for it.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compressor| compressor.name() == name)
    }

    fn number(self) -> u8 {
        match self {
            Self::Noop => 0,
            Self::Snappy => 1,
            Self::Zlib => 2,
            Self::Zstd => 3,
        }
    }

    fn parse(number: u8) -> Result<Self, WireError> {
        let all = [Self::Noop, Self::Snappy, Self::Zlib, Self::Zstd];
        all.into_iter().find(|compressor| compressor.number() == number).ok_or(WireError::Compressor(number))
    }
}

/// The number of bytes at the start of a compressed message up to and including its declared length.
pub const DECLARED_BYTES: usize = HEADER_BYTES + 8;

/// Returns the length of the uncompressed message, header included, as the compressed message declares it. `start` has
/// the first [`DECLARED_BYTES`] of the compressed message; returns `None` if it is shorter, or if no message can have
/// the declared length.
pub fn declared_length(start: &[u8]) -> Option<usize> {
    let word = start.get(HEADER_BYTES + 4..)?.first_chunk()?;
    let size = usize::try_from(i32::from_le_bytes(*word)).ok()?;
    (size <= MAX_MESSAGE_BYTES - HEADER_BYTES).then_some(HEADER_BYTES + size)
}

/// Returns the message within a compressed one, and the compressor that was used. The message has at most `length_max`
/// bytes, header included.
///
/// # Errors
/// [`WireError::Compression`], [`WireError::Compressor`], [`WireError::Length`], [`WireError::OpCode`]. The function
/// uses at most the memory that the message declares and `length_max` allows.
pub fn decompress(
    header: &Header,
    message: &[u8],
    length_max: usize,
) -> Result<(Header, Vec<u8>, Compressor), WireError> {
    let mut rest = Cursor::new(message.get(HEADER_BYTES..).ok_or(WireError::Truncated)?);
    let op_code = OpCode::parse(rest.i32()?)?;
    if op_code == OpCode::Compressed {
        return Err(WireError::OpCode(op_code.number()));
    }
    let declared = rest.i32()?;
    let length = declared_length(message).ok_or(WireError::Length(declared))?;
    if length > length_max {
        return Err(WireError::Length(declared));
    }
    let compressor = Compressor::parse(rest.byte()?)?;
    let inner = Header { length, op_code, ..*header };
    let mut out = Vec::with_capacity(length);
    inner.encode(&mut out);
    out.resize(length, 0);
    let room = out.get_mut(HEADER_BYTES..).unwrap_or_default();
    match expand(compressor, rest.rest(), room) {
        true => Ok((inner, out, compressor)),
        false => Err(WireError::Compression),
    }
}

/// Expands bytes. Returns true if the result fills `room` exactly and no input is left.
fn expand(compressor: Compressor, bytes: &[u8], room: &mut [u8]) -> bool {
    match compressor {
        Compressor::Noop => {
            let fits = bytes.len() == room.len();
            if fits {
                room.copy_from_slice(bytes);
            }
            fits
        }
        Compressor::Snappy => {
            let fits = snap::raw::decompress_len(bytes).is_ok_and(|length| length == room.len());
            fits && snap::raw::Decoder::new().decompress(bytes, room).is_ok_and(|written| written == room.len())
        }
        Compressor::Zlib => {
            let mut decoder = flate2::read::ZlibDecoder::new(bytes);
            decoder.read_exact(room).is_ok() && decoder.read(&mut [0]).is_ok_and(|more| more == 0)
        }
        // The bulk decoder allocates no window of its own. A streaming decoder would allocate a window whose size the
        // frame sets.
        Compressor::Zstd => zstd::bulk::decompress_to_buffer(bytes, room).is_ok_and(|written| written == room.len()),
    }
}

/// Compresses a whole message.
///
/// # Errors
/// [`WireError::Compression`] if there is not enough memory; [`WireError::Truncated`] if `message` is not a whole
/// message.
pub fn compress(message: &[u8], compressor: Compressor) -> Result<Vec<u8>, WireError> {
    let (head, payload) = message.split_first_chunk::<HEADER_BYTES>().ok_or(WireError::Truncated)?;
    let header = Header::parse(head)?;
    let packed = match compressor {
        Compressor::Noop => payload.to_vec(),
        Compressor::Snappy => snap::raw::Encoder::new().compress_vec(payload).map_err(|_| WireError::Compression)?,
        Compressor::Zlib => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(ZLIB_LEVEL));
            encoder.write_all(payload).and_then(|()| encoder.finish()).map_err(|_| WireError::Compression)?
        }
        Compressor::Zstd => zstd::bulk::compress(payload, ZSTD_LEVEL).map_err(|_| WireError::Compression)?,
    };
    let length = HEADER_BYTES + 9 + packed.len();
    let mut out = Vec::with_capacity(length);
    Header { length, op_code: OpCode::Compressed, ..header }.encode(&mut out);
    out.extend_from_slice(&header.op_code.number().to_le_bytes());
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.push(compressor.number());
    out.extend_from_slice(&packed);
    Ok(out)
}

#[cfg(test)]
mod tests;

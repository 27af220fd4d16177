//! `OP_COMPRESSED`: another message, compressed.

use crate::cursor::Cursor;
use crate::error::WireError;
use crate::header::{HEADER_BYTES, Header, MAX_MESSAGE_BYTES, OpCode};
use std::io::{Read, Write};

/// The level of zlib, as in MongoDB's default.
const ZLIB_LEVEL: u32 = 6;
/// The level of zstd, as in MongoDB's default.
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
        [Self::Snappy, Self::Zlib, Self::Zstd].into_iter().find(|compressor| compressor.name() == name)
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

/// The message within a compressed one, and how it was compressed.
///
/// # Errors
/// [`WireError::Compression`], [`WireError::Compressor`], [`WireError::Length`], [`WireError::OpCode`]: memory is limited
/// by [`MAX_MESSAGE_BYTES`], whatever the message declares.
pub fn decompress(header: &Header, message: &[u8]) -> Result<(Header, Vec<u8>, Compressor), WireError> {
    let mut rest = Cursor::new(message.get(HEADER_BYTES..).ok_or(WireError::Truncated)?);
    let op_code = OpCode::parse(rest.i32()?)?;
    if op_code == OpCode::Compressed {
        return Err(WireError::OpCode(op_code.number()));
    }
    let declared = rest.i32()?;
    let size = usize::try_from(declared).map_err(|_| WireError::Length(declared))?;
    if size > MAX_MESSAGE_BYTES - HEADER_BYTES {
        return Err(WireError::Length(declared));
    }
    let compressor = Compressor::parse(rest.byte()?)?;
    let inner = Header { length: HEADER_BYTES + size, op_code, ..*header };
    let mut out = Vec::new();
    inner.encode(&mut out);
    expand(compressor, rest.rest(), size, &mut out)?;
    match out.len() == inner.length {
        true => Ok((inner, out, compressor)),
        false => Err(WireError::Compression),
    }
}

/// Appends the expanded bytes, of which there are at most `size + 1`.
fn expand(compressor: Compressor, bytes: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
    let limit = size as u64 + 1;
    let read = match compressor {
        Compressor::Noop => bytes.take(limit).read_to_end(out),
        Compressor::Snappy => {
            let length = snap::raw::decompress_len(bytes).map_err(|_| WireError::Compression)?;
            if length != size {
                return Err(WireError::Compression);
            }
            let text = snap::raw::Decoder::new().decompress_vec(bytes).map_err(|_| WireError::Compression)?;
            out.extend_from_slice(&text);
            return Ok(());
        }
        Compressor::Zlib => flate2::read::ZlibDecoder::new(bytes).take(limit).read_to_end(out),
        Compressor::Zstd => match zstd::stream::read::Decoder::with_buffer(bytes) {
            Ok(decoder) => decoder.take(limit).read_to_end(out),
            Err(error) => Err(error),
        },
    };
    read.map(drop).map_err(|_| WireError::Compression)
}

/// A whole message as a compressed one.
///
/// # Errors
/// [`WireError::Compression`] if memory lacks; [`WireError::Truncated`] if `message` is not a whole message.
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

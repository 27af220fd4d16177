//! Stored blocks: a body, and a trailer with its encoding and its checksum.
//!
//! Trailer: the raw length (little-endian; its width is in the tag), the tag, and a checksum of
//! four bytes. The checksum covers everything before it, and is seeded with the file's number and
//! the block's offset. Bits 0-1 of the tag are the method of compression, bits 2-4 the block's
//! role, bits 5-7 the number of bytes of the raw length (0 if the body is raw).

use crate::block::PADDING;
use crate::columns;
use crate::compress::{Decoders, Encoder, Method};
use crate::dictionary::Dictionary;
use alluvium_codec::checksum32;

/// The most raw bytes of a block.
pub(crate) const MAX_RAW: usize = 1 << 30;

/// The location of a stored block: its offset in the file, and its length with the trailer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

impl Handle {
    /// The offset after the block.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.len))
    }
}

/// The contents of a block. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Entries.
    Data = 0,
    /// The index entries and the filter of some data blocks.
    Partition = 1,
    /// The top-level index.
    Index = 2,
    /// The dictionary.
    Dictionary = 3,
    /// Opaque bytes of the layer above.
    Aux = 4,
    /// Properties.
    Properties = 5,
    /// Entries, column by column.
    Columns = 6,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Data | Self::Columns => "data block",
            Self::Partition => "index partition",
            Self::Index => "top-level index",
            Self::Dictionary => "dictionary",
            Self::Aux => "aux block",
            Self::Properties => "properties block",
        }
    }
}

/// The seed of a block's checksum.
pub(crate) fn seed(file_number: u64, offset: u64) -> u64 {
    file_number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset
}

/// Adds the checksum of a block to the digest of a file.
pub(crate) fn digest(so_far: u64, checksum: u32) -> u64 {
    (so_far ^ u64::from(checksum)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// The checksum in a stored block's last four bytes.
pub(crate) fn checksum_of(stored: &[u8]) -> u32 {
    stored.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Text shorter than this is not worth compressing.
const MIN_TEXT: usize = 32;

/// Content to be stored.
#[derive(Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) role: Role,
    /// The number of bytes at the front that are stored uncompressed.
    pub(crate) head: usize,
}

impl<'a> Content<'a> {
    /// Content that is compressed as a whole, or not at all.
    pub(crate) fn new(raw: &'a [u8], role: Role) -> Self {
        Self { raw, role, head: 0 }
    }

    /// Columns with a head of this many bytes.
    pub(crate) fn columns(raw: &'a [u8], head: usize) -> Self {
        Self { raw, role: Role::Columns, head }
    }

    /// Appends the body to `out`.
    pub(crate) fn encode(&self, encoder: Option<&mut Encoder>, out: &mut Vec<u8>) -> Method {
        let (head, text) = self.raw.split_at(self.head);
        out.extend_from_slice(head);
        match encoder {
            Some(encoder) if self.head == 0 || text.len() >= MIN_TEXT => encoder.encode(text, out),
            _ => {
                out.extend_from_slice(text);
                Method::Raw
            }
        }
    }
}

/// Appends a stored block to `out`; its offset in the file is `offset`. Without an encoder the body
/// is raw. Returns the number of bytes appended.
pub(crate) fn put_content(
    out: &mut Vec<u8>,
    content: Content<'_>,
    encoder: Option<&mut Encoder>,
    file_number: u64,
    offset: u64,
) -> usize {
    let start = out.len();
    let method = content.encode(encoder, out);
    let raw_len = content.raw.len() as u32;
    let width = match method {
        Method::Raw => 0,
        _ => (32 - raw_len.leading_zeros()).div_ceil(8) as usize,
    };
    out.extend_from_slice(&raw_len.to_le_bytes()[..width]);
    out.push(method as u8 | (content.role as u8) << 2 | (width as u8) << 5);
    let checksum = checksum32(&out[start..], seed(file_number, offset));
    out.extend_from_slice(&checksum.to_le_bytes());
    out.len() - start
}

/// Checks and decompresses a stored block; columns become packed entries. The result is followed by
/// [`PADDING`] zero bytes.
///
/// # Errors
/// A description of the fault in the block.
pub(crate) fn get(
    stored: &[u8],
    role: Role,
    decoders: &mut Decoders,
    dictionary: Option<&Dictionary>,
    file_number: u64,
    offset: u64,
) -> Result<Vec<u8>, String> {
    let short = || format!("a {} too short for its trailer", role.name());
    let (covered, checksum) = stored.split_last_chunk::<4>().ok_or_else(short)?;
    if checksum32(covered, seed(file_number, offset)) != u32::from_le_bytes(*checksum) {
        return Err(format!("the checksum of a {} does not match", role.name()));
    }
    let (&tag, rest) = covered.split_last().ok_or_else(short)?;
    let is_columns = role == Role::Data && tag >> 2 & 7 == Role::Columns as u8;
    if tag >> 2 & 7 != role as u8 && !is_columns {
        return Err(format!("a block of another kind than {}", role.name()));
    }
    let (method, width) = (Method::from_bits(tag), usize::from(tag >> 5));
    let body_len = rest.len().checked_sub(width).ok_or_else(short)?;
    let (body, len_bytes) = rest.split_at(body_len);
    let raw_len = match (method, width) {
        (Method::Raw, 0) => body.len(),
        (Method::Raw, _) | (_, 0 | 5..) => return Err(format!("the tag of a {}", role.name())),
        _ => len_bytes.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte)),
    };
    if raw_len > MAX_RAW {
        return Err(format!("a {} of {raw_len} bytes", role.name()));
    }
    let result = match is_columns {
        true => get_columns(method, body, raw_len, decoders, dictionary),
        false => decoders.zip.decode(method, body, raw_len, PADDING, dictionary).map_err(str::to_owned),
    };
    result.map_err(|what| format!("a {}: {what}", role.name()))
}

/// Decodes the columns in `body` to packed entries.
fn get_columns(
    method: Method,
    body: &[u8],
    raw_len: usize,
    decoders: &mut Decoders,
    dictionary: Option<&Dictionary>,
) -> Result<Vec<u8>, String> {
    let head_len = columns::head_len(body).map_err(|error| error.to_string())?;
    let (head, text) = body.split_at(head_len);
    let unzipped;
    let text = match method {
        Method::Raw => text,
        _ => {
            let text_len = raw_len.checked_sub(head_len).ok_or("a length below that of its head")?;
            unzipped = decoders.zip.decode(method, text, text_len, 0, dictionary)?;
            &unzipped
        }
    };
    let mut content = Vec::with_capacity(4 * raw_len.min(64 << 10) + PADDING);
    decoders.columns.decode(head, text, &mut content).map_err(|error| error.to_string())?;
    content.resize(content.len() + PADDING, 0);
    Ok(content)
}

#[cfg(test)]
mod tests;

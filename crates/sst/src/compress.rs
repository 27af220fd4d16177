//! Compressing and decompressing the bodies of stored blocks.

use crate::columns::ColumnDecoder;
use crate::context::{new_context, new_decoder};
use crate::dictionary::Dictionary;
use crate::options::Compression;
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use std::cell::Cell;
use std::sync::Arc;
use zstd_safe::{CCtx, DCtx};

/// Buffers that one large block has made larger than this are released.
const KEPT_BYTES: usize = 1 << 20;

/// After this many blocks in a row that do not compress, the encoder tries only every
/// [`PROBE_EVERY`]th block: searching random bytes for matches costs as much as finding matches.
const GIVE_UP_AFTER: u32 = 8;
const PROBE_EVERY: u32 = 16;

/// The compression of a body. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Uncompressed.
    Raw = 0,
    /// An LZ4 block.
    Lz4 = 1,
    /// A bare zstd frame.
    Zstd = 2,
    /// A bare zstd frame that uses the file's dictionary.
    ZstdDictionary = 3,
}

impl Method {
    /// The method whose number is in the low two bits.
    pub(crate) fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Raw,
            1 => Self::Lz4,
            2 => Self::Zstd,
            _ => Self::ZstdDictionary,
        }
    }
}

/// Compresses blocks with the same method.
pub(crate) struct Encoder {
    how: How,
    scratch: Vec<u8>,
    /// Blocks in a row that did not compress or were not tried.
    raw_in_a_row: u32,
}

enum How {
    Raw,
    Lz4(Box<CompressTable>),
    Zstd(CCtx<'static>),
    Dictionary { context: Option<CCtx<'static>>, level: i32, dictionary: Arc<Dictionary> },
}

impl Encoder {
    /// An encoder. Falls back to storing blocks raw if zstd has no memory for a context.
    pub(crate) fn new(compression: Compression, dictionary: Option<&Arc<Dictionary>>) -> Self {
        let how = match (compression, dictionary) {
            (Compression::None, _) => How::Raw,
            (Compression::Lz4, _) => How::Lz4(Box::new(CompressTable::small())),
            (Compression::Zstd { level }, None) => new_context(level, None).map_or(How::Raw, How::Zstd),
            (Compression::Zstd { level }, Some(dictionary)) => match dictionary.take_encoder(level) {
                Some(context) => How::Dictionary { context: Some(context), level, dictionary: dictionary.clone() },
                None => How::Raw,
            },
        };
        Self { how, scratch: Vec::new(), raw_in_a_row: 0 }
    }

    /// Compresses `raw`, and appends the result to `out`. If compression does not save a sixteenth,
    /// `raw` itself is appended, which costs nothing to read. If many blocks in a row do not
    /// compress, most of the next blocks are appended without a try.
    pub(crate) fn encode(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Method {
        let run = self.raw_in_a_row;
        if run >= GIVE_UP_AFTER && !(run - GIVE_UP_AFTER).is_multiple_of(PROBE_EVERY) {
            self.raw_in_a_row = run.wrapping_add(1).max(GIVE_UP_AFTER);
            out.extend_from_slice(raw);
            return Method::Raw;
        }
        // lz4_flex needs room for the worst case; zstd fails when the room is used up.
        let limit = raw.len() - raw.len() / 16;
        let room = if matches!(self.how, How::Lz4(_)) { get_maximum_output_size(raw.len()) } else { limit };
        if self.scratch.len() < room {
            // Zeroed by the system: what the result does not reach takes no memory.
            self.scratch = vec![0; room];
        }
        let target = &mut self.scratch[..room];
        let (method, result) = match &mut self.how {
            How::Raw => (Method::Raw, None),
            How::Lz4(table) => (Method::Lz4, compress_into_with_table(raw, target, table).ok()),
            How::Zstd(context) => (Method::Zstd, context.compress2(target, raw).ok()),
            How::Dictionary { context, .. } => {
                (Method::ZstdDictionary, context.as_mut().and_then(|context| context.compress2(target, raw).ok()))
            }
        };
        let method = match result {
            Some(len) if len <= limit => {
                self.raw_in_a_row = 0;
                out.extend_from_slice(&self.scratch[..len]);
                method
            }
            _ => {
                self.raw_in_a_row = run.wrapping_add(1);
                out.extend_from_slice(raw);
                Method::Raw
            }
        };
        if self.scratch.len() > KEPT_BYTES {
            self.scratch = Vec::new();
        }
        method
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if let How::Dictionary { context, level, dictionary } = &mut self.how
            && let Some(context) = context.take()
        {
            dictionary.give_encoder(*level, context);
        }
    }
}

/// The buffers and contexts with which a thread reads blocks, kept between reads.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The stored bytes of a block.
    pub(crate) stored: Vec<u8>,
    pub(crate) decoders: Decoders,
}

/// Decoders of the bodies of blocks.
#[derive(Default)]
pub(crate) struct Decoders {
    /// Decompression.
    pub(crate) zip: Decoder,
    /// Decoding of columns.
    pub(crate) columns: ColumnDecoder,
}

thread_local! {
    /// Taken out while in use, so that a nested read (by a file system that yields) finds nothing
    /// and makes its own scratch.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Runs `f` with this thread's scratch.
    pub(crate) fn with<T>(f: impl FnOnce(&mut Self) -> T) -> T {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let result = f(&mut scratch);
        if scratch.stored.capacity() > KEPT_BYTES {
            scratch.stored = Vec::new();
        }
        SCRATCH.set(Some(scratch));
        result
    }
}

/// Decompresses blocks; see [`Scratch`].
#[derive(Default)]
pub(crate) struct Decoder {
    context: Option<DCtx<'static>>,
}

impl Decoder {
    /// Decompresses `body` into a new vector of exactly `raw_len` bytes, followed by `padding`
    /// zero bytes.
    pub(crate) fn decode(
        &mut self,
        method: Method,
        body: &[u8],
        raw_len: usize,
        padding: usize,
        dictionary: Option<&Dictionary>,
    ) -> Result<Vec<u8>, &'static str> {
        let mut raw = Vec::new();
        raw.try_reserve_exact(raw_len + padding).map_err(|_| "a block is too long for memory")?;
        let len = match method {
            Method::Raw => {
                raw.extend_from_slice(body);
                body.len()
            }
            Method::Lz4 => {
                raw.resize(raw_len, 0);
                lz4_flex::block::decompress_into(body, &mut raw).map_err(|_| "LZ4 cannot decompress a block")?
            }
            Method::Zstd => self.context()?.decompress(&mut raw, body).map_err(|_| "zstd cannot decompress a block")?,
            Method::ZstdDictionary => {
                let decoder = dictionary
                    .and_then(Dictionary::decoder)
                    .ok_or("a block needs a dictionary that the file does not have")?;
                let context = self.context()?;
                context.decompress_using_ddict(&mut raw, body, decoder).map_err(|_| "zstd cannot decompress a block")?
            }
        };
        if len != raw_len || raw.len() != raw_len {
            return Err("the length of a block differs from its trailer");
        }
        raw.resize(raw_len + padding, 0);
        Ok(raw)
    }

    fn context(&mut self) -> Result<&mut DCtx<'static>, &'static str> {
        if self.context.is_none() {
            self.context = new_decoder();
        }
        self.context.as_mut().ok_or("zstd has no memory for a context")
    }
}

#[cfg(test)]
mod tests;

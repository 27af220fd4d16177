//! Compression of records: each is a bare frame of zstd, without magic number, checksum and content size, which the
//! group has.

use alluvium_env::sync::Mutex;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, FrameFormat};

/// Shorter payloads are written as they are: they compress badly, and a single small write must not get slower.
const LEAST_BYTES: usize = 16 << 10;
/// The most bytes that the compressed records of one group have before compression. A longer payload is written as it
/// is, and no reader makes room for more.
pub(crate) const MAX_RAW_BYTES: usize = 64 << 20;
/// A payload is written as it is unless compression saves one part in this many.
const LEAST_SAVING: usize = 8;
/// The fastest of the levels of zstd that are not negative. On rows of comments it takes 1.1 times the time of level
/// -1 and 0.8 of the bytes (`docs/decisions/0105-compressed-log.md`).
const LEVEL: i32 = 1;

/// Compresses the payloads of records, each in the thread that writes it.
///
/// A context of the compression takes at most 0.8 MB and is kept for the next payload.
pub struct Compressor {
    least_bytes: usize,
    contexts: Mutex<Contexts>,
}

struct Contexts {
    idle: Vec<CCtx<'static>>,
    /// The number of contexts that may still be created.
    left: usize,
}

impl Compressor {
    /// Compresses payloads of at least `least_bytes` bytes, by default 16 KiB, in up to `threads` threads at a time.
    /// With 0 threads, nothing is compressed.
    pub fn new(threads: usize, least_bytes: Option<usize>) -> Self {
        let least_bytes = least_bytes.unwrap_or(LEAST_BYTES);
        Self { least_bytes, contexts: Mutex::new(Contexts { idle: Vec::new(), left: threads }) }
    }

    /// The compressed form of a payload, for [`crate::Record::compressed`]. Returns `None` for a payload that is to be
    /// written as it is: it is too short or too long, compression does not save an eighth of it, or other threads use
    /// all contexts.
    ///
    /// ```
    /// let compressor = alluvium_wal::Compressor::new(1, None);
    /// let payload = b"a delta ".repeat(10_000);
    /// assert!(compressor.compress(&payload).is_some_and(|short| short.len() < 1_000));
    /// assert_eq!(compressor.compress(&payload[..1_000]), None);
    /// ```
    pub fn compress(&self, payload: &[u8]) -> Option<Vec<u8>> {
        if !(self.least_bytes..=MAX_RAW_BYTES).contains(&payload.len()) {
            return None;
        }
        let mut context = self.take()?;
        let mut compressed = Vec::with_capacity(payload.len() - payload.len() / LEAST_SAVING);
        // If the capacity is not enough, compression fails.
        let done = context.compress2(&mut compressed, payload);
        self.contexts.lock().idle.push(context);
        done.ok().filter(|length| *length > 0)?;
        compressed.shrink_to_fit();
        Some(compressed)
    }

    /// An idle context, or a new one if there may be another one.
    fn take(&self) -> Option<CCtx<'static>> {
        let mut contexts = self.contexts.lock();
        if let Some(context) = contexts.idle.pop() {
            return Some(context);
        }
        contexts.left = contexts.left.checked_sub(1)?;
        drop(contexts);
        let context = new_context();
        self.contexts.lock().left += usize::from(context.is_none());
        context
    }
}

fn new_context() -> Option<CCtx<'static>> {
    let mut context = CCtx::try_create()?;
    let bare = [
        CParameter::CompressionLevel(LEVEL),
        CParameter::Format(FrameFormat::Magicless),
        CParameter::ContentSizeFlag(false),
        CParameter::ChecksumFlag(false),
    ];
    bare.into_iter().all(|parameter| context.set_parameter(parameter).is_ok()).then_some(context)
}

/// Decompresses the payloads of records. Its context is created with the first of them.
#[derive(Default)]
pub(crate) struct Decompressor(Option<DCtx<'static>>);

impl Decompressor {
    /// Appends the payload of `raw_len` bytes that `compressed` is the compressed form of. Returns false if it is not,
    /// or if there is no memory for it.
    pub(crate) fn append(&mut self, compressed: &[u8], raw_len: usize, out: &mut Vec<u8>) -> bool {
        let Some(context) = self.context() else { return false };
        let start = out.len();
        if out.try_reserve(raw_len).is_err() {
            return false;
        }
        out.resize(start + raw_len, 0);
        context.decompress(&mut out[start..], compressed).is_ok_and(|length| length == raw_len)
    }

    fn context(&mut self) -> Option<&mut DCtx<'static>> {
        if self.0.is_none() {
            let mut context = DCtx::try_create()?;
            context.set_parameter(DParameter::Format(FrameFormat::Magicless)).ok()?;
            self.0 = Some(context);
        }
        self.0.as_mut()
    }
}

#[cfg(test)]
mod tests;

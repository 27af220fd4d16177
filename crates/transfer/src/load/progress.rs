//! The progress of a load: counters for observers, and the mark from which the next run resumes.

use alluvium_codec::varint;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a running load. Any thread may read them at any time.
#[derive(Debug, Default)]
pub struct Progress {
    /// Documents written.
    pub documents: AtomicU64,
    /// Bytes of input processed, decompressed.
    pub bytes: AtomicU64,
    /// Total bytes of the input; 0 if unknown.
    pub total_bytes: AtomicU64,
    /// Documents skipped as duplicates.
    pub duplicates: AtomicU64,
    /// Records rejected.
    pub rejected: AtomicU64,
    /// Records repaired.
    pub repaired: AtomicU64,
    /// Generated `_id`s, for documents that had none.
    pub ids_made: AtomicU64,
}

impl Progress {
    pub(crate) fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }
}

/// The first byte of the key of a load's mark in a collection's system tree.
const MARK_PREFIX: u8 = b'l';

/// The progress of a load; stored in the collection's system tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The offset of the first byte that is not loaded, in the decompressed input.
    pub offset: u64,
    /// The number of the line that begins there, from 0.
    pub line: u64,
    /// The number of characters of that line before the offset.
    pub column: u64,
    /// Documents written so far.
    pub documents: u64,
    /// The whole input is loaded.
    pub finished: bool,
}

impl Mark {
    /// The key of the mark of an input.
    pub fn key(identity: u64, id_field: &str) -> Vec<u8> {
        let mut key = vec![MARK_PREFIX];
        key.extend_from_slice(&identity.to_be_bytes());
        key.extend_from_slice(id_field.as_bytes());
        key
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.finished)];
        varint::put_u64(&mut out, self.offset);
        varint::put_u64(&mut out, self.line);
        varint::put_u64(&mut out, self.documents);
        varint::put_u64(&mut out, self.column);
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&finished, mut input) = bytes.split_first()?;
        Some(Self {
            finished: finished == 1,
            offset: varint::get_u64(&mut input).ok()?,
            line: varint::get_u64(&mut input).ok()?,
            documents: varint::get_u64(&mut input).ok()?,
            // Marks of older versions, which exist only for JSON lines, have no column.
            column: varint::get_u64(&mut input).unwrap_or(0),
        })
    }
}

//! The bytes of all entries, in chunks that never move.
//!
//! An entry is a header, the key, the value, and zeros up to a multiple of 8:
//!
//! ```text
//! 0   u64  number << 8 | kind (kind 0: replaced by an entry with the same key and number)
//! 8   u32  place of the next older version of the key, or NONE; of a replaced entry, its replacement
//! 12  u32  length of the key
//! 16  u32  length of the value
//! 20       key, value, padding
//! ```
//!
//! The entries of a chunk are adjacent, so that they can be walked without an index.

use crate::prefetch::prefetch;
use alluvium_codec::entry::{self, Entry, Kind, Seq};
use std::cmp::Ordering;

/// A memtable of this many bytes should be sealed, whatever the budget allows: 2 GiB. Its capacity is four times that:
/// about 8 GiB with the entry sizes that use chunks worst.
pub const FULL_BYTES: usize = 2 << 30;

/// The address of an entry: the index of its chunk, and the offset in units of 8 bytes.
pub(crate) type Place = u32;

/// No entry.
pub(crate) const NONE: Place = Place::MAX;

const HEADER: usize = 20;
/// Small entries end about this many bytes after their beginning, often in the next cache line.
const REACH: usize = 48;
const UNIT: usize = 8;
const OFFSET_BITS: u32 = 17;
const FIRST_CHUNK: usize = 64 << 10;
/// The size of the first chunks of an arena that may stay small, in bytes.
const SMALL_CHUNK: usize = 1 << 10;
/// The size of the largest chunk of several entries, in bytes.
pub(crate) const LAST_CHUNK: usize = UNIT << OFFSET_BITS;
const MAX_CHUNKS: usize = 1 << (Place::BITS - OFFSET_BITS);

// Whatever the size of its entries, a full memtable has room for the batches that are already being applied to it.
const _: () = assert!(FULL_BYTES.div_ceil(LAST_CHUNK / 4) <= MAX_CHUNKS / 4);

/// The bytes of entries; see the module.
pub(crate) struct Arena {
    chunks: Vec<Vec<u8>>,
    /// The index of the chunk that takes small entries, and its limit in bytes.
    open: Option<(usize, usize)>,
    capacity: usize,
    /// The size of the smallest chunk of several entries, in bytes.
    first_chunk: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Self { chunks: Vec::new(), open: None, capacity: 0, first_chunk: FIRST_CHUNK }
    }
}

/// An entry in an arena.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub seq: Seq,
    /// `None` for an entry that was replaced by one with the same key and number.
    pub kind: Option<Kind>,
    /// The next older version, or [`NONE`]; of a replaced entry, its replacement.
    pub older: Place,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

impl Arena {
    /// An arena for few entries, which may grow.
    pub(crate) fn small() -> Self {
        Self { first_chunk: SMALL_CHUNK, ..Self::default() }
    }

    /// Appends an entry whose next older version is at `older`.
    pub(crate) fn push(&mut self, entry: Entry<'_>, older: Place) -> Place {
        let (key_len, value_len) = (entry.key.len(), entry.value.len());
        // The store refuses batches long before they reach 4 GiB.
        assert!(key_len.max(value_len) < u32::MAX as usize, "an entry of 4 GiB");
        let need = (HEADER + key_len + value_len).next_multiple_of(UNIT);
        let index = self.chunk_with_room(need);
        let chunk = &mut self.chunks[index];
        let start = chunk.len();
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&(entry.seq << 8 | entry.kind as u64).to_le_bytes());
        header[8..12].copy_from_slice(&older.to_le_bytes());
        header[12..16].copy_from_slice(&(key_len as u32).to_le_bytes());
        header[16..20].copy_from_slice(&(value_len as u32).to_le_bytes());
        chunk.extend_from_slice(&header);
        chunk.extend_from_slice(entry.key);
        chunk.extend_from_slice(entry.value);
        chunk.resize(start + need, 0);
        place(index, start)
    }

    fn chunk_with_room(&mut self, need: usize) -> usize {
        if let Some((index, limit)) = self.open
            && self.chunks[index].len() + need <= limit
        {
            return index;
        }
        self.grow(need)
    }

    #[cold]
    fn grow(&mut self, need: usize) -> usize {
        let index = self.chunks.len();
        // The limit is at least about 8 GiB; see `Memtable`.
        assert!(index < MAX_CHUNKS, "a memtable of {MAX_CHUNKS} chunks");
        // A new chunk is at most a quarter of the size of all earlier chunks together.
        let size = (self.capacity / 4).next_power_of_two().clamp(self.first_chunk, LAST_CHUNK);
        // An entry that would leave much of a chunk unused gets a chunk of its own; the open chunk stays open.
        let own = need > size / 4;
        let size = if own { need } else { size };
        if !own {
            self.open = Some((index, size));
        }
        self.chunks.push(Vec::with_capacity(size));
        self.capacity += size;
        index
    }

    /// The memory of all chunks, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity + self.chunks.capacity() * size_of::<Vec<u8>>()
    }

    /// The number of bytes written to each chunk.
    pub(crate) fn chunk_lens(&self) -> Vec<usize> {
        self.chunks.iter().map(Vec::len).collect()
    }

    /// The entry at `place`.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> Stored<'_> {
        let (chunk, at) = self.locate(place);
        let header = &chunk[at..at + HEADER];
        let tag = u64_at(header, 0);
        let key_start = at + HEADER;
        let key_end = key_start + u32_at(header, 12) as usize;
        let value_end = key_end + u32_at(header, 16) as usize;
        Stored {
            seq: tag >> 8,
            kind: kind(tag as u8),
            older: u32_at(header, 8),
            key: &chunk[key_start..key_end],
            value: &chunk[key_end..value_end],
        }
    }

    /// The key of the entry at `place`.
    #[inline]
    pub(crate) fn key(&self, place: Place) -> &[u8] {
        let (chunk, at) = self.locate(place);
        let len = u32_at(&chunk[at..at + HEADER], 12) as usize;
        &chunk[at + HEADER..at + HEADER + len]
    }

    /// The number of the entry at `place`.
    #[inline]
    pub(crate) fn seq(&self, place: Place) -> Seq {
        let (chunk, at) = self.locate(place);
        u64_at(&chunk[at..at + 8], 0) >> 8
    }

    /// The order of two entries: key, then falling number.
    pub(crate) fn compare(&self, a: Place, b: Place) -> Ordering {
        entry::compare(self.key(a), self.seq(a), self.key(b), self.seq(b))
    }

    /// Makes `older` the next older version after the entry at `place`.
    pub(crate) fn set_older(&mut self, place: Place, older: Place) {
        let (index, at) = split(place);
        self.chunks[index][at + 8..at + 12].copy_from_slice(&older.to_le_bytes());
    }

    /// Marks the entry at `place`, which was removed from its chain, as replaced by the entry at `by`.
    pub(crate) fn set_replaced(&mut self, place: Place, by: Place) {
        let (index, at) = split(place);
        self.chunks[index][at] = 0;
        self.set_older(place, by);
    }

    /// True if the entry at `place` begins within the first bytes of its chunk that `lens` counts.
    pub(crate) fn is_within(place: Place, lens: &[usize]) -> bool {
        let (index, at) = split(place);
        lens.get(index).is_some_and(|len| at < *len)
    }

    /// Calls `f` with the entries of chunk `index` from offset `from` on, in order of arrival, until `f` returns false
    /// or offset `to` is reached. Returns the offset of the first entry that was not passed to `f`.
    pub(crate) fn walk(
        &self,
        index: usize,
        from: usize,
        to: usize,
        mut f: impl FnMut(Place, Stored<'_>) -> bool,
    ) -> usize {
        let mut at = from;
        while at < to {
            let stored = self.at(place(index, at));
            if !f(place(index, at), stored) {
                break;
            }
            at += (HEADER + stored.key.len() + stored.value.len()).next_multiple_of(UNIT);
        }
        at
    }

    /// Prefetches the entry at `place`.
    #[inline]
    pub(crate) fn touch(&self, place: Place) {
        let (chunk, at) = self.locate(place);
        prefetch(&chunk[at..]);
        prefetch(chunk.get(at + REACH..).unwrap_or(&[]));
    }

    #[inline]
    fn locate(&self, place: Place) -> (&[u8], usize) {
        let (index, at) = split(place);
        (&self.chunks[index], at)
    }
}

#[inline]
fn place(index: usize, offset: usize) -> Place {
    (index as u32) << OFFSET_BITS | (offset / UNIT) as u32
}

#[inline]
fn split(place: Place) -> (usize, usize) {
    let offset = place & ((1 << OFFSET_BITS) - 1);
    ((place >> OFFSET_BITS) as usize, offset as usize * UNIT)
}

#[inline]
fn kind(byte: u8) -> Option<Kind> {
    match byte {
        1 => Some(Kind::Put),
        2 => Some(Kind::Delete),
        3 => Some(Kind::Delta),
        4 => Some(Kind::RangeDelete),
        5 => Some(Kind::Folded),
        _ => None,
    }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests;

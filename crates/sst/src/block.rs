//! Blocks: sorted entries, packed column by column.
//!
//! Data blocks, index partitions and the top-level index all consist of the same packed entries;
//! [`Block`] is the decoded form of any of them. The fields of the entries (lengths, kinds,
//! numbers) are columns of fixed width. Therefore the fields of an entry are read without parsing
//! earlier entries, and a column whose values follow a straight line takes no bytes.

mod builder;
mod column;
mod cursor;
mod packer;
mod reader;
mod search;

pub(crate) use builder::{BlockBuilder, Unpacked, common_len};
pub(crate) use cursor::Cursor;
pub(crate) use packer::{Packer, WORD};
pub(crate) use reader::Shape;

use column::{Line, Small};

/// The most entries that a block holds.
pub(crate) const MAX_ENTRIES: usize = 1 << 16;

/// The zero bytes after the content. They allow a column to be read eight bytes at a time.
pub(crate) const PADDING: usize = 8;

/// The offsets of the key and the value of a directly reachable entry.
#[derive(Debug, Clone, Copy)]
struct Restart {
    key: u32,
    value: u32,
}

/// A decoded block: a data block, or an index partition with its filter. Never changes.
///
/// A block is kept small: with the counts of an `Arc` it takes two cache lines, and a point read of
/// cached blocks mostly waits for cache lines.
#[derive(Debug)]
pub struct Block {
    /// The content and [`PADDING`].
    bytes: Box<[u8]>,
    restarts: Box<[Restart]>,
    columns: Columns,
    entries: u32,
    prefix_len: u32,
    filter_at: u32,
    prefix_at: u8,
    /// Entry `i` has its whole key (except for the block's prefix) if `i` is a multiple of `1 <<
    /// log`.
    restart_log: u8,
}

/// The columns of a block, one after the other.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    seq_base: u64,
    seq_step: u64,
    /// The offset of the first column.
    at: u32,
    /// Bytes of the key after the block's prefix and the shared part.
    suffix_len: Small,
    value_len: Small,
    kind: Small,
    /// Bytes after the block's prefix that the key shares with the previous key.
    shared: Small,
    seq_width: u8,
    seq_before: u8,
}

impl Block {
    /// The memory that the block takes, in bytes.
    pub fn weight(&self) -> usize {
        // The counts of the `Arc`, and an allocator's overhead of three allocations.
        const OVERHEAD: usize = 16 + 3 * 16;
        std::mem::size_of::<Self>() + self.bytes.len() + std::mem::size_of_val(&*self.restarts) + OVERHEAD
    }

    /// The number of entries; never 0.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries as usize
    }

    /// The bytes with which all keys begin.
    #[inline]
    fn prefix(&self) -> &[u8] {
        let start = usize::from(self.prefix_at);
        &self.bytes[start..start + self.prefix_len as usize]
    }

    /// The filter of an index partition; empty if the block has no filter.
    #[inline]
    pub(crate) fn filter(&self) -> &[u8] {
        // The filter's length follows it. In a block without a filter the range is empty.
        self.bytes.get(self.filter_at as usize..self.bytes.len() - PADDING - 4).unwrap_or(&[])
    }

    /// The offset of the residuals of a column.
    #[inline(always)]
    fn column_at(&self, before: u8) -> usize {
        self.columns.at as usize + self.entries as usize * usize::from(before)
    }

    #[inline(always)]
    fn small(&self, column: Small, index: usize) -> usize {
        column.get(&self.bytes, self.column_at(column.before), index) as usize
    }

    #[inline(always)]
    fn suffix_len(&self, index: usize) -> usize {
        self.small(self.columns.suffix_len, index)
    }

    #[inline(always)]
    fn value_len(&self, index: usize) -> usize {
        self.small(self.columns.value_len, index)
    }

    #[inline(always)]
    fn shared(&self, index: usize) -> usize {
        self.small(self.columns.shared, index)
    }

    #[inline(always)]
    fn seq_of(&self, index: usize) -> u64 {
        let Columns { seq_base: base, seq_step: step, seq_width: width, seq_before, .. } = self.columns;
        Line { base, step, width }.get(&self.bytes, self.column_at(seq_before), index)
    }

    /// The key and the sequence number of entry `index`, which must be below the number of entries.
    pub(crate) fn entry(&self, index: usize) -> (Vec<u8>, u64) {
        let mut cursor = Cursor::new();
        cursor.move_to(self, index);
        (cursor.key().to_vec(), cursor.seq())
    }

    /// The value of entry `index` of a block in which every entry is directly reachable; empty
    /// if there is no such entry.
    #[inline]
    pub(crate) fn direct_value(&self, index: usize) -> &[u8] {
        let Some(restart) = self.restarts.get(index) else { return &[] };
        let start = restart.value as usize;
        self.bytes.get(start..start + self.value_len(index)).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests;

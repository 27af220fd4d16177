//! Blocks: sorted entries, packed column by column.
//!
//! Data blocks, index partitions and the top-level index are all made of the same packed
//! entries; [`Block`] is the decoded form of any of them. The fields of the entries (lengths,
//! kinds, numbers) are columns of fixed width, so that any entry's fields are read without
//! parsing those before it, and a column whose values follow a straight line takes no bytes.

mod builder;
mod column;
mod cursor;
mod reader;
mod search;

pub(crate) use builder::{BlockBuilder, common_len};
pub(crate) use cursor::Cursor;
pub(crate) use reader::Shape;

use column::Column;
use std::ops::Range;

/// The most entries that a block holds.
pub(crate) const MAX_ENTRIES: usize = 1 << 16;

/// The zero bytes behind the content, so that a column can be read eight bytes at a time.
pub(crate) const PADDING: usize = 8;

/// Where the key and the value of a directly reachable entry begin.
#[derive(Debug, Clone, Copy)]
struct Restart {
    key: u32,
    value: u32,
}

/// A decoded block: a data block, or an index partition with its filter. Never changes.
#[derive(Debug)]
pub struct Block {
    /// The content and [`PADDING`].
    bytes: Vec<u8>,
    entries: u32,
    /// Entry `i` has its key whole (but for the block's prefix) if `i` is a multiple of `1 << log`.
    restart_log: u32,
    prefix: Range<u32>,
    columns: Columns,
    restarts: Box<[Restart]>,
    filter: Range<u32>,
}

/// The columns of a block, in the order of the format.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    /// Bytes of the key after the block's prefix and the shared part.
    suffix_len: Column,
    value_len: Column,
    kind: Column,
    seq: Column,
    /// Bytes of the key, after the block's prefix, that are those of the entry before.
    shared: Column,
}

impl Block {
    /// The memory that the block takes, in bytes.
    pub fn weight(&self) -> usize {
        std::mem::size_of::<Self>() + self.bytes.capacity() + std::mem::size_of_val(&*self.restarts)
    }

    /// The number of entries; never 0.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries as usize
    }

    /// The bytes that all keys begin with.
    #[inline]
    fn prefix(&self) -> &[u8] {
        &self.bytes[self.prefix.start as usize..self.prefix.end as usize]
    }

    /// The filter of an index partition; empty if there is none.
    #[inline]
    pub(crate) fn filter(&self) -> &[u8] {
        &self.bytes[self.filter.start as usize..self.filter.end as usize]
    }

    /// The key and the number of entry `index`, which must be below the number of entries.
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
        let len = self.columns.value_len.get(&self.bytes, index) as usize;
        self.bytes.get(start..start + len).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests;

//! The two levels of the index.
//!
//! An index entry is a *bound* and the location of the block (or partition) that begins there.
//! Every entry of that block is at or after its bound, and every entry of the previous block is
//! before the bound. Therefore exactly one block may hold (key, number): the last block whose bound
//! is at or before it. A bound is as short as possible: one byte longer than the common prefix of
//! the keys on both sides. If the versions of one key continue from block to block, the bound is
//! that key and a number just below the number of the last version in the previous block.

use crate::block::{Block, BlockBuilder, Shape, common_len};
use crate::filter;
use crate::stored::Handle;
use alluvium_codec::entry::{Entry, Kind, MAX_SEQ, Seq};

/// A partition is closed when its data blocks take this many bytes, because its offsets have 32
/// bits.
const MAX_REGION: u64 = 1 << 30;

/// The error when [`IndexBuilder::top_is_full`].
pub(crate) const TOO_MANY_BLOCKS: &str = "a file has too many blocks for its index (larger blocks let it hold more)";

/// The bound between two successive entries.
pub(crate) fn bound<'a>(last_key: &[u8], last_seq: Seq, next_key: &'a [u8]) -> (&'a [u8], Seq) {
    let common = common_len(last_key, next_key);
    if common == last_key.len() && common == next_key.len() {
        return (next_key, last_seq.saturating_sub(1));
    }
    (&next_key[..(common + 1).min(next_key.len())], MAX_SEQ)
}

/// Collects the index while data blocks are written.
pub(crate) struct IndexBuilder {
    max_blocks: usize,
    max_bytes: usize,
    bits_per_key: u32,
    partition: BlockBuilder,
    hashes: Vec<u64>,
    region_start: u64,
    /// The bound of the open partition.
    bound: (Vec<u8>, Seq),
    /// The value of an index entry; reused.
    value: Vec<u8>,
    top: BlockBuilder,
}

impl IndexBuilder {
    pub(crate) fn new(max_blocks: usize, max_bytes: usize, bits_per_key: u32) -> Self {
        Self {
            max_blocks: max_blocks.clamp(1, 1 << 16),
            max_bytes: max_bytes.min(1 << 24),
            bits_per_key: bits_per_key.min(32),
            partition: BlockBuilder::new(1),
            hashes: Vec::new(),
            region_start: 0,
            bound: (Vec::new(), MAX_SEQ),
            value: Vec::new(),
            top: BlockBuilder::new(1),
        }
    }

    /// Adds the hash of a key of the open partition. Must be called once per key, and once more if
    /// the partition has [no key yet](Self::has_no_key).
    #[inline]
    pub(crate) fn add_hash(&mut self, hash: u64) {
        self.hashes.push(hash);
    }

    /// True if the open partition's filter has no key yet.
    #[inline]
    pub(crate) fn has_no_key(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Adds a data block.
    pub(crate) fn add_block(&mut self, bound: (&[u8], Seq), block: Handle) {
        self.add_extent(bound, block.offset, &[]);
    }

    /// Adds an index entry for `offset` of the data, with `more` after the offset in its value.
    pub(crate) fn add_extent(&mut self, bound: (&[u8], Seq), offset: u64, more: &[u8]) {
        if self.partition.is_empty() {
            self.region_start = offset;
            self.bound.0.clear();
            self.bound.0.extend_from_slice(bound.0);
            self.bound.1 = bound.1;
        }
        let offset = (offset - self.region_start) as u32;
        self.value.clear();
        self.value.extend_from_slice(&offset.to_le_bytes());
        self.value.extend_from_slice(more);
        self.partition.add(index_entry(bound, &self.value));
    }

    /// The start of the region of the open partition.
    pub(crate) fn region_start(&self) -> u64 {
        self.region_start
    }

    /// True if the top-level index has as many partitions as a block can hold.
    pub(crate) fn top_is_full(&self) -> bool {
        self.top.is_full()
    }

    /// True if the open partition should be written; `end` is the end of its last block.
    pub(crate) fn is_full(&self, end: u64) -> bool {
        let raw_len = self.partition.raw_len() + self.hashes.len() * self.bits_per_key as usize / 8;
        // Huge files get larger partitions, so that the top-level index stays small.
        let scale = (self.top.len() / 8192).min(16);
        self.partition.len() >= self.max_blocks << scale
            || raw_len >= self.max_bytes << scale
            || end - self.region_start >= MAX_REGION
            || self.partition.is_full()
    }

    /// True if there is no open partition.
    pub(crate) fn is_empty(&self) -> bool {
        self.partition.is_empty()
    }

    /// The approximate bytes of the open partition.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.partition.raw_len() + self.hashes.len() * self.bits_per_key as usize / 8 + self.top.raw_len()
    }

    /// Appends the content of the open partition to `out` and closes it.
    pub(crate) fn finish_partition(&mut self, out: &mut Vec<u8>) {
        self.partition.finish(out);
        let start = out.len();
        filter::build(&self.hashes, self.bits_per_key, out);
        let filter_len = (out.len() - start) as u32;
        out.extend_from_slice(&filter_len.to_le_bytes());
        self.hashes.clear();
    }

    /// Adds the location of the partition that was just closed.
    pub(crate) fn add_partition(&mut self, at: Handle) {
        self.add_partition_with(at, &[]);
    }

    /// As [`IndexBuilder::add_partition`], with `more` after the location in the entry.
    pub(crate) fn add_partition_with(&mut self, at: Handle, more: &[u8]) {
        self.value.clear();
        self.value.extend_from_slice(&at.offset.to_le_bytes());
        self.value.extend_from_slice(&at.len.to_le_bytes());
        self.value.extend_from_slice(more);
        self.top.add(index_entry((&self.bound.0, self.bound.1), &self.value));
    }

    /// Appends the content of the top-level index to `out`.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.top.finish(out);
    }
}

fn index_entry<'a>(bound: (&'a [u8], Seq), value: &'a [u8]) -> Entry<'a> {
    Entry { key: bound.0, seq: bound.1, kind: Kind::Put, value }
}

/// The top-level index, in memory.
#[derive(Debug)]
pub(crate) struct TopIndex {
    block: Block,
}

impl TopIndex {
    /// Decodes the content (with padding) of the top-level index of a file whose partitions end
    /// at `data_end`.
    pub(crate) fn decode(content: Vec<u8>, data_end: u64) -> alluvium_codec::Result<Self> {
        let top = Self { block: Block::decode(content, Shape::Entries)? };
        let invalid = alluvium_codec::DecodeError::Invalid("the places of index partitions");
        let mut end = 0;
        for index in 0..top.len() {
            let handle = top.partition(index);
            if top.block.direct_value(index).len() != 12 || handle.offset <= end || handle.len == 0 {
                return Err(invalid);
            }
            end = handle.end();
        }
        if end == data_end { Ok(top) } else { Err(invalid) }
    }

    /// The number of partitions.
    pub(crate) fn len(&self) -> usize {
        self.block.len()
    }

    pub(crate) fn weight(&self) -> usize {
        self.block.weight()
    }

    /// The partition that may hold (`key`, `seq`); `None` if that position is before all entries.
    #[inline]
    pub(crate) fn find(&self, key: &[u8], seq: Seq) -> Option<usize> {
        self.block.floor(key, seq)
    }

    /// The location of partition `index`.
    #[inline]
    pub(crate) fn partition(&self, index: usize) -> Handle {
        let value = self.block.direct_value(index);
        let offset = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let len = value.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        Handle { offset, len }
    }

    /// The start of the data blocks of partition `index`: the end of the previous partition.
    #[inline]
    pub(crate) fn region_start(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |before| self.partition(before).end())
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }
}

/// The location of data block `index` of `partition`. The region of its blocks begins at
/// `region_start` and ends where the partition itself begins.
///
/// `None` if the offsets in the partition are not valid.
#[inline]
pub(crate) fn data_block(partition: &Block, index: usize, region_start: u64, partition_at: u64) -> Option<Handle> {
    let offset_of = |index: usize| {
        let value = partition.direct_value(index).first_chunk()?;
        Some(region_start + u64::from(u32::from_le_bytes(*value)))
    };
    let offset = offset_of(index)?;
    let end = if index + 1 < partition.len() { offset_of(index + 1)? } else { partition_at };
    let len = u32::try_from(end.checked_sub(offset)?).ok()?;
    (end <= partition_at).then_some(Handle { offset, len })
}

#[cfg(test)]
mod tests;

//! The options of building and opening a read-only store.

use crate::error::{Error, Result};
use alluvium_sst::Compression;

/// The treatment of a key or `_id` that occurs again in a build or in a load. In a build, the
/// position in the input decides, never the memory budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// A build fails with an error that names the first pair that repeats an earlier key; a load
    /// fails with an error that names the line.
    Error,
    /// The later pair or document replaces the earlier one. A load reads nothing for that.
    Replace,
    /// The earlier pair or document is kept.
    Skip,
}

/// The options of a build.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Bytes of memory, 1 MiB or more. Pairs that do not fit are sorted in parts on the disk.
    /// Default: 256 MiB.
    pub memory_bytes: usize,
    /// Bytes of a data block before compression, 512 to 1 MiB. Smaller blocks make random reads
    /// cheaper; larger blocks make the file smaller. Default: 2 KiB.
    pub block_bytes: usize,
    /// Compression of data blocks. Zstandard uses a dictionary trained on the input. Default:
    /// Zstandard at level 3.
    pub compression: Compression,
    /// Bits of filter for each key, 0 (none) to 32. Default: 10.
    pub filter_bits_per_key: u32,
    /// An index file for each of these intervals, 1 to 1,000,000 ([`crate::MAX_INTERVAL`]). It has
    /// an index entry for each interval of this many keys. Data blocks end where an interval ends.
    /// If the list is empty, the default, there is one index entry for each data block.
    pub index_intervals: Vec<u64>,
    /// The treatment of a key that occurs again. Default: error.
    pub on_duplicate: OnDuplicate,
    /// Bytes that the layer above reads at opening; stored unchanged. At most 64 KiB.
    pub label: Vec<u8>,
    /// Bytes of pairs that are sorted at once. Default: derived from the memory budget.
    pub run_bytes: Option<usize>,
    /// Sorted runs that are merged at once, 2 or more. Default: derived from the memory budget.
    pub merge_width: Option<usize>,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            block_bytes: 2 << 10,
            compression: Compression::Zstd { level: 3 },
            filter_bits_per_key: 10,
            index_intervals: Vec::new(),
            on_duplicate: OnDuplicate::Error,
            label: Vec::new(),
            run_bytes: None,
            merge_width: None,
        }
    }
}

/// The longest interval of an index file. The hashes of an interval's keys are in memory until
/// their filter is written, and the filter is read as a whole.
pub const MAX_INTERVAL: u64 = 1_000_000;

/// The memory of a merge for each run, in bytes: read-ahead, a block, and the run's index.
const BYTES_OF_INPUT: usize = 512 << 10;

impl BuildOptions {
    pub(crate) fn check(&mut self) -> Result<()> {
        let invalid = |name, must_be| Err(Error::InvalidOption { name, must_be });
        if self.memory_bytes < 1 << 20 {
            return invalid("memory_bytes", "at least 1 MiB");
        }
        if !(512..=1 << 20).contains(&self.block_bytes) {
            return invalid("block_bytes", "512 to 1 MiB");
        }
        if self.filter_bits_per_key > 32 {
            return invalid("filter_bits_per_key", "at most 32");
        }
        if self.index_intervals.iter().any(|interval| !(1..=MAX_INTERVAL).contains(interval)) {
            return invalid("index_intervals", "1 to 1,000,000 each");
        }
        if self.label.len() > 64 << 10 {
            return invalid("label", "at most 64 KiB");
        }
        if self.merge_width.is_some_and(|width| width < 2) {
            return invalid("merge_width", "at least 2");
        }
        self.index_intervals.sort_unstable();
        self.index_intervals.dedup();
        if self.index_intervals.len() > 64 {
            return invalid("index_intervals", "at most 64");
        }
        Ok(())
    }

    /// Bytes of pairs that are collected before they are sorted. Two such arenas are in memory at
    /// once: one is filled while the other is written.
    pub(crate) fn arena_bytes(&self) -> usize {
        const MOST: usize = 2 << 30;
        let derived = self.memory_bytes / 16 * 6;
        self.run_bytes.unwrap_or(derived).min(MOST)
    }

    /// Runs that are merged at once.
    pub(crate) fn merge_width(&self) -> usize {
        self.merge_width.unwrap_or((self.memory_bytes / 2 / BYTES_OF_INPUT).clamp(2, 128))
    }
}

/// The options of opening.
#[derive(Debug, Clone)]
pub struct ReadOnlyOptions {
    /// Bytes of memory for cached blocks and indexes, 1 MiB or more. Default: 256 MiB.
    pub memory_bytes: usize,
    /// The interval of the index file for point reads; 0 is the sorted file's own index, which has
    /// an entry for each data block. Default: the smallest interval of the index files; without
    /// index files, the sorted file's own index.
    pub index_interval: Option<u64>,
}

impl Default for ReadOnlyOptions {
    fn default() -> Self {
        Self { memory_bytes: 256 << 20, index_interval: None }
    }
}

//! Options of a writer.

use crate::dictionary::Dictionary;
use std::sync::Arc;

/// The compression of data blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    None,
    /// LZ4: fast, and without a dictionary.
    Lz4,
    /// Zstandard, with the writer's dictionary if it has one.
    Zstd {
        /// zstd's level; 1 to 3 suit small blocks, and more than 9 is rarely worth its time.
        level: i32,
    },
}

/// The options of a [`crate::Writer`].
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// The raw bytes after which a data block is closed, at least 512 (smaller values are raised);
    /// 8 KiB by default. An entry with a value of at least this size gets a block of its own.
    pub block_bytes: usize,
    /// The compression of data blocks; zstd level 3 by default.
    pub compression: Compression,
    /// The dictionary for zstd. It is stored in the file.
    pub dictionary: Option<Arc<Dictionary>>,
    /// Filter bits per key, 0 (no filter) to 32; 10 by default.
    pub filter_bits_per_key: u32,
    /// The interval of entries whose keys are stored whole, so that they can be reached directly; 1
    /// to 1024. With 0, the default, each block chooses: 1 for entries of 64 bytes or more and 16
    /// for smaller entries.
    pub restart_interval: u32,
    /// Data blocks of small entries whose keys have the same form are stored column by column if
    /// that takes less space and if blocks are compressed at all; true by default.
    pub columns: bool,
    /// The data blocks that one index partition covers at most; 112 by default.
    pub index_partition_blocks: usize,
    /// The raw bytes after which an index partition is closed; 16 KiB by default.
    pub index_partition_bytes: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            block_bytes: 8 << 10,
            compression: Compression::Zstd { level: 3 },
            dictionary: None,
            filter_bits_per_key: 10,
            restart_interval: 0,
            columns: true,
            index_partition_blocks: 112,
            index_partition_bytes: 16 << 10,
        }
    }
}

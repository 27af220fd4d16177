//! Immutable sorted files: blocks, dictionary, filter and index, writer, reader, iterator.
//!
//! A file is written once, front to back, by a [`Writer`], and then read by a [`Reader`]. Every
//! byte is drawn in `docs/format/sst.md`. A point read goes through the top-level index (in
//! memory) to one index partition (filter and index, cached) and at most one data block.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod block;
mod columns;
mod compress;
mod data;
mod dictionary;
mod filter;
mod footer;
mod forget;
mod held;
mod index;
mod index_file;
mod iter;
mod meta;
mod options;
mod output;
mod properties;
mod reader;
mod sampler;
mod stored;
mod verify;
mod walk;
mod writer;

pub use block::Block;
pub use dictionary::{Dictionary, DictionaryRegistry};
pub use held::Holder;
pub use index_file::{IndexFile, IndexFileMeta, is_index_file};
pub use iter::SstIter;
pub use meta::{FileCheck, FileMeta, FooterInfo};
pub use options::{Compression, WriterOptions};
pub use properties::Properties;
pub use reader::Reader;
pub use sampler::Sampler;
pub use verify::CheckEntry;
pub use walk::{BlockReader, FooterFacts, LostBlock, WalkedBlock, WalkedFile, walk_file};
pub use writer::Writer;

use std::sync::Arc;

/// The format version that this build writes, and the highest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The bytes that end every file.
pub const MAGIC: [u8; 8] = footer::MAGIC;

/// The length of a footer.
pub const FOOTER_BYTES: u64 = footer::LEN as u64;

/// Where decoded blocks are kept between reads; implemented above this crate.
///
/// A block is named by its file's number and its offset in the file. Both are never reused for
/// other bytes. A cache may forget anything at any time.
pub trait BlockCache: Send + Sync {
    /// The block, if it is held.
    fn get(&self, file: u64, offset: u64) -> Option<Arc<Block>>;
    /// Offers a block to the cache; [`Block::weight`] is what it costs.
    fn insert(&self, file: u64, offset: u64, block: &Arc<Block>);
    /// Takes a block out of the cache, if it is held. Default: does nothing.
    fn remove(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        let _ = (file, offset);
        None
    }
    /// Says that a point read has to read a block of a file. Default: does nothing.
    fn note_read_by_get(&self) {}
    /// Bounds what files hold of their index partitions, past the cache. Default: they hold none.
    fn holder(&self) -> Option<&Arc<Holder>> {
        None
    }
    /// Says that an index partition was asked for that its file held. Default: does nothing.
    fn note_held(&self) {}
}

/// A cache that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCache;

impl BlockCache for NoCache {
    fn get(&self, _file: u64, _offset: u64) -> Option<Arc<Block>> {
        None
    }

    fn insert(&self, _file: u64, _offset: u64, _block: &Arc<Block>) {}
}

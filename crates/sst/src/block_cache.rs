//! The interface to the cache of decoded blocks, which the layer above implements.

use crate::block::Block;
use crate::held::Holder;
use std::sync::Arc;

/// A cache of decoded blocks; implemented above this crate.
///
/// A block is identified by its file's number and its offset in the file. Both are never reused for
/// other bytes. A cache may evict anything at any time.
pub trait BlockCache: Send + Sync {
    /// The block, if it is cached.
    fn get(&self, file: u64, offset: u64) -> Option<Arc<Block>>;
    /// Offers a block to the cache; the block costs [`Block::weight`].
    fn insert(&self, file: u64, offset: u64, block: &Arc<Block>);
    /// Removes a block from the cache, and returns it if it was cached. Default: does nothing.
    fn remove(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        let _ = (file, offset);
        None
    }
    /// Counts a point read that has to read a block of a file. Default: does nothing.
    fn note_read_by_get(&self) {}
    /// The limit of index partitions that files hold outside the cache. Default: files hold none.
    fn holder(&self) -> Option<&Arc<Holder>> {
        None
    }
    /// Counts a look-up of an index partition that its file held. Default: does nothing.
    fn note_held(&self) {}
}

/// A cache that caches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCache;

impl BlockCache for NoCache {
    fn get(&self, _file: u64, _offset: u64) -> Option<Arc<Block>> {
        None
    }

    fn insert(&self, _file: u64, _offset: u64, _block: &Arc<Block>) {}
}

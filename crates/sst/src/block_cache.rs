//! The interface to the cache of decoded blocks, which the layer above implements.

use crate::block::Block;
use crate::held::Holder;
use std::sync::Arc;

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

//! The block cache: decoded blocks by (file number, offset), shared by all partitions.
//!
//! The policy is quick_cache's (CLOCK-PRO with ghosts, after Jiang, Chen and Zhang 2005).
//! A cached block can never be stale: file numbers are never reused, and files never change.
//!
//! Files hold their index partitions themselves, outside the cache, as long as the partitions take
//! at most half of the cache's bytes ([`alluvium_sst::Holder`]). The cache is smaller by the bytes
//! that files hold.

mod counts;

use crate::budget::{Budget, Owner};
use alluvium_sst::{Block, BlockCache, Holder};
use counts::{Counts, What};
use quick_cache::Weighter;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

type Key = (u64, u64);
type Blocks = quick_cache::sync::Cache<Key, Arc<Block>, ByBytes>;

/// The cost of an entry in addition to the block: slab slot (some 64 bytes, growing by doubling),
/// ghost slots, hash table, the block's `Arc`.
const ENTRY_OVERHEAD: u64 = 160;

/// Weighs a block by the memory it takes. Allocators round sizes up by some 6% on average.
#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Arc<Block>> for ByBytes {
    fn weight(&self, _key: &Key, block: &Arc<Block>) -> u64 {
        let bytes = block.weight() as u64;
        bytes + bytes / 16 + ENTRY_OVERHEAD
    }
}

thread_local! {
    static OF_THREAD: Cell<BlockCounts> = const { Cell::new(BlockCounts { looked_up: 0, read: 0 }) };
}

/// Blocks that a thread has looked up, in all caches together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCounts {
    /// Blocks that were looked up.
    pub looked_up: u64,
    /// Looked-up blocks that were not cached and were read from files.
    pub read: u64,
}

impl BlockCounts {
    /// The counts of the calling thread since it began. Subtract two results to measure the work
    /// between them.
    pub fn of_thread() -> Self {
        OF_THREAD.get()
    }
}

impl std::ops::Sub for BlockCounts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { looked_up: self.looked_up - before.looked_up, read: self.read - before.read }
    }
}

impl std::ops::AddAssign for BlockCounts {
    fn add_assign(&mut self, more: Self) {
        self.looked_up += more.looked_up;
        self.read += more.read;
    }
}

/// The step, as a fraction of the capacity, in which the capacity is divided between cached blocks
/// and the blocks that files hold.
const SHARE_STEPS: u64 = 64;

/// The block cache.
pub struct Cache {
    blocks: Blocks,
    /// The index partitions that files hold.
    holder: Arc<Holder>,
    /// The bytes that cached blocks and held index partitions may take together.
    capacity: AtomicU64,
    /// The part of the capacity that was left to files when the bound of cached blocks was last
    /// set.
    left_to_files: AtomicU64,
    budget: Arc<Budget>,
    counts: Counts,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("bytes", &self.bytes()).field("capacity", &self.capacity()).finish()
    }
}

impl Cache {
    /// A cache that uses the memory that `budget` leaves to it, and follows later changes.
    pub fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let capacity = budget.cache_capacity();
        let items = (capacity / (8 << 10)).max(64);
        let blocks = Blocks::with_weighter(items, capacity as u64, ByBytes);
        let cache = Arc::new(Self {
            blocks,
            holder: Holder::new(capacity / 2),
            capacity: AtomicU64::new(capacity as u64),
            left_to_files: AtomicU64::new(0),
            budget: budget.clone(),
            counts: Counts::new(),
        });
        let weak: Weak<Self> = Arc::downgrade(&cache);
        budget.listen(Box::new(move |bytes| {
            if let Some(cache) = weak.upgrade() {
                cache.capacity.store(bytes as u64, Ordering::Relaxed);
                cache.holder.set_limit(bytes / 2);
                cache.share();
            }
        }));
        cache
    }

    /// Limits cached blocks to the part of the capacity that files leave, and leaves files a little
    /// more than they use.
    fn share(&self) {
        let left = self.holder.bytes() as u64 + self.capacity() / SHARE_STEPS;
        self.left_to_files.store(left, Ordering::Relaxed);
        self.blocks.set_capacity(self.capacity().saturating_sub(left));
    }

    /// Divides the capacity again when files hold more than was left to them, or much less.
    fn follow(&self) {
        let (held, left) = (self.holder.bytes() as u64, self.left_to_files.load(Ordering::Relaxed));
        if held > left || held + 3 * (self.capacity() / SHARE_STEPS) < left {
            self.share();
        }
    }

    /// The bytes that cached blocks take, bookkeeping included, and held index partitions.
    pub fn bytes(&self) -> u64 {
        let bytes = self.blocks.weight() + self.held_bytes();
        self.budget.set(Owner::Cache, bytes as usize);
        bytes
    }

    /// The bytes that cached blocks and held index partitions may take.
    pub fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed)
    }

    /// The bytes of index partitions that files hold.
    pub fn held_bytes(&self) -> u64 {
        self.holder.bytes() as u64
    }

    /// The number of cached blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len() + self.holder.blocks()
    }

    /// Look-ups that found their block.
    pub fn hits(&self) -> u64 {
        self.counts.sum(What::Hit)
    }

    /// Look-ups that did not find their block.
    pub fn misses(&self) -> u64 {
        self.counts.sum(What::Miss)
    }

    /// Counts a point read.
    #[inline]
    pub fn count_get(&self) {
        self.counts.add(What::Get);
    }

    #[inline]
    fn count_look_up(&self, found: bool) {
        self.counts.add(if found { What::Hit } else { What::Miss });
        let BlockCounts { looked_up, read } = OF_THREAD.get();
        OF_THREAD.set(BlockCounts { looked_up: looked_up + 1, read: read + u64::from(!found) });
    }

    /// Point reads that were counted.
    pub fn gets(&self) -> u64 {
        self.counts.sum(What::Get)
    }

    /// Blocks that point reads had to read because they were not cached.
    pub fn reads_by_gets(&self) -> u64 {
        self.counts.sum(What::ReadByGet)
    }

    /// Removes all blocks.
    pub fn clear(&self) {
        self.blocks.clear();
        self.holder.clear();
    }
}

impl BlockCache for Cache {
    fn get(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        let found = self.blocks.get(&(file, offset));
        self.count_look_up(found.is_some());
        found
    }

    fn insert(&self, file: u64, offset: u64, block: &Arc<Block>) {
        self.follow();
        self.blocks.insert((file, offset), block.clone());
    }

    fn remove(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        self.blocks.remove(&(file, offset)).map(|(_, block)| block)
    }

    fn note_read_by_get(&self) {
        self.counts.add(What::ReadByGet);
    }

    fn holder(&self) -> Option<&Arc<Holder>> {
        Some(&self.holder)
    }

    fn note_held(&self) {
        self.count_look_up(true);
    }
}

#[cfg(test)]
mod tests;

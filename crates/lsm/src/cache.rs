//! The block cache: decoded blocks by (file number, offset), shared by all partitions.
//!
//! The policy is quick_cache's (CLOCK-PRO with ghosts, after Jiang, Chen and Zhang 2005).
//! A cached block can never be stale: file numbers are never reused, and files never change.

use crate::{Budget, Owner};
use quick_cache::Weighter;
use sst::{Block, BlockCache};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

type Key = (u64, u64);
type Blocks = quick_cache::sync::Cache<Key, Arc<Block>, ByBytes>;

/// What an entry costs beside the block: slab slot (some 64 bytes, growing by doubling), ghost
/// slots, hash table, the block's `Arc`.
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

const STRIPES: usize = 16;

thread_local! {
    static OF_THREAD: Cell<BlockCounts> = const { Cell::new(BlockCounts { looked_up: 0, read: 0 }) };
}

/// Blocks that a thread has asked for, in all caches together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCounts {
    /// Blocks that were asked for.
    pub looked_up: u64,
    /// Those of them that were not cached, and were read from files.
    pub read: u64,
}

impl BlockCounts {
    /// Those of the calling thread, since it began. The difference of two is what was done between.
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

/// Counters on cache lines of their own, so that readers on many cores do not share one.
#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    hits: AtomicU64,
    misses: AtomicU64,
    gets: AtomicU64,
    reads_by_gets: AtomicU64,
}

/// The block cache.
pub struct Cache {
    blocks: Blocks,
    budget: Arc<Budget>,
    counters: [Stripe; STRIPES],
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("bytes", &self.bytes()).field("capacity", &self.capacity()).finish()
    }
}

impl Cache {
    /// A cache that takes what `budget` leaves it, now and later.
    pub fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let capacity = budget.cache_capacity();
        let items = (capacity / (8 << 10)).max(64);
        let blocks = Blocks::with_weighter(items, capacity as u64, ByBytes);
        let cache = Arc::new(Self { blocks, budget: budget.clone(), counters: Default::default() });
        let weak: Weak<Self> = Arc::downgrade(&cache);
        budget.listen(Box::new(move |bytes| {
            if let Some(cache) = weak.upgrade() {
                cache.blocks.set_capacity(bytes as u64);
            }
        }));
        cache
    }

    /// The bytes that cached blocks take, bookkeeping included.
    pub fn bytes(&self) -> u64 {
        let bytes = self.blocks.weight();
        self.budget.set(Owner::Cache, bytes as usize);
        bytes
    }

    /// The bytes that cached blocks may take.
    pub fn capacity(&self) -> u64 {
        self.blocks.capacity()
    }

    /// The number of blocks held.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Look-ups that found their block.
    pub fn hits(&self) -> u64 {
        self.counters.iter().map(|stripe| stripe.hits.load(Ordering::Relaxed)).sum()
    }

    /// Look-ups that did not.
    pub fn misses(&self) -> u64 {
        self.counters.iter().map(|stripe| stripe.misses.load(Ordering::Relaxed)).sum()
    }

    /// Counts a point read of a key with this hash.
    #[inline]
    pub fn count_get(&self, hash: u64) {
        self.counters[(hash >> 60) as usize % STRIPES].gets.fetch_add(1, Ordering::Relaxed);
    }

    /// Point reads that were counted.
    pub fn gets(&self) -> u64 {
        self.counters.iter().map(|stripe| stripe.gets.load(Ordering::Relaxed)).sum()
    }

    /// Blocks that point reads had to read, because they were not here.
    pub fn reads_by_gets(&self) -> u64 {
        self.counters.iter().map(|stripe| stripe.reads_by_gets.load(Ordering::Relaxed)).sum()
    }

    /// Forgets all blocks.
    pub fn clear(&self) {
        self.blocks.clear();
    }
}

impl BlockCache for Cache {
    fn get(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        let found = self.blocks.get(&(file, offset));
        let stripe = &self.counters[(offset >> 11) as usize % STRIPES];
        let counter = if found.is_some() { &stripe.hits } else { &stripe.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        let BlockCounts { looked_up, read } = OF_THREAD.get();
        OF_THREAD.set(BlockCounts { looked_up: looked_up + 1, read: read + u64::from(found.is_none()) });
        found
    }

    fn insert(&self, file: u64, offset: u64, block: &Arc<Block>) {
        self.blocks.insert((file, offset), block.clone());
    }

    fn note_read_by_get(&self, offset: u64) {
        self.counters[(offset >> 11) as usize % STRIPES].reads_by_gets.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;

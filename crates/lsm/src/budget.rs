//! One memory budget in bytes, and the part that each owner uses.
//!
//! Memtables have a share of their own, and jobs (flushes and compactions) have a reserve. The
//! bytes that files and dictionaries pin are taken from the remainder of the budget. The block
//! cache gets what is left, and is resized when that amount changes. While there are no sealed
//! memtables, the cache also gets the part of the memtables' share that is reserved for them.
//! Queries have a share in addition to these ([`queries`]); the cache shrinks to make room for
//! them. Locking: atomics, and one lock for each query, which is the innermost lock; the listener
//! may take the cache's own locks.

mod queries;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

pub use queries::{QueryCharge, QueryMemory};

/// A user of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Active and immutable memtables.
    Memtables,
    /// Decoded blocks.
    Cache,
    /// Top-level indexes of open files.
    Pinned,
    /// Compression dictionaries.
    Dictionaries,
    /// Buffers of running flushes and compactions.
    Jobs,
    /// Changes that a store opened for reading only keeps in memory, because it writes no files.
    Overlay,
    /// The memory of queries: see [`QueryMemory`].
    Queries,
}

const OWNERS: usize = 7;

/// A budget of up to this many bytes lends nothing to the cache. The allowance for the allocator is
/// computed from at most this many bytes.
const SMALL_BUDGET: usize = 128 << 20;

/// Called with the new capacity of the cache, in bytes.
type Listener = Box<dyn Fn(usize) + Send + Sync>;

/// A memory budget, shared by all partitions of a store.
pub struct Budget {
    total: usize,
    memtable_share: usize,
    /// The bytes that the cache leaves to memtables.
    memtable_reserve: AtomicUsize,
    job_reserve: usize,
    used: [AtomicUsize; OWNERS],
    announced: AtomicUsize,
    listener: OnceLock<Listener>,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget").field("total", &self.total).field("used", &self.used).finish_non_exhaustive()
    }
}

impl Budget {
    /// A budget of `total` bytes: three eighths for memtables, an eighth (at most 24 MiB)
    /// reserved for jobs.
    pub fn new(total: usize) -> Arc<Self> {
        Self::with_shares(total, total / 8 * 3, (total / 8).min(24 << 20))
    }

    /// A budget of `total` bytes. Memtables may use `memtable_share` of them, and running jobs are
    /// expected to use `job_reserve`.
    pub fn with_shares(total: usize, memtable_share: usize, job_reserve: usize) -> Arc<Self> {
        let budget = Self {
            total,
            memtable_share: memtable_share.min(total),
            memtable_reserve: AtomicUsize::new(memtable_share.min(total)),
            job_reserve: job_reserve.min(total),
            used: Default::default(),
            announced: AtomicUsize::new(0),
            listener: OnceLock::new(),
        };
        budget.announced.store(budget.cache_capacity(), Ordering::Relaxed);
        Arc::new(budget)
    }

    /// The whole budget in bytes.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The bytes that memtables may use together.
    pub fn memtable_share(&self) -> usize {
        self.memtable_share
    }

    /// Sets the memory of memtables: of the active ones, which take writes, and of the sealed ones,
    /// which wait to be flushed. The caller must call this whenever a memtable was sealed or
    /// flushed, and must seal a memtable when the active ones have half of the share. The other
    /// half is lent to the cache while nothing is sealed.
    ///
    /// Only half of the share is lent, and nothing if the budget is small: the cache frees blocks
    /// all over the heap, and the allocator can hardly use this memory for memtables. Therefore the
    /// lent part must be small relative to the rest of the budget
    /// (`docs/decisions/0037-reads-from-the-cache.md`).
    pub fn set_memtables(&self, active: usize, sealed: usize) {
        let lent = (self.memtable_share / 2).min(self.total.saturating_sub(SMALL_BUDGET));
        let half = active.max(self.memtable_share / 2) + sealed;
        self.memtable_reserve.store(half.max(self.memtable_share - lent), Ordering::Relaxed);
        self.set(Owner::Memtables, active + sealed);
    }

    /// The bytes that running jobs are expected to use together.
    pub fn job_reserve(&self) -> usize {
        self.job_reserve
    }

    /// The bytes in use by one owner.
    pub fn used(&self, owner: Owner) -> usize {
        self.used[owner as usize].load(Ordering::Relaxed)
    }

    /// Sets the bytes in use by an owner that is measured as a whole.
    pub fn set(&self, owner: Owner, bytes: usize) {
        self.used[owner as usize].store(bytes, Ordering::Relaxed);
        if owner != Owner::Cache {
            self.announce();
        }
    }

    /// Adds to the bytes in use by an owner, until the charge is dropped.
    pub fn charge(self: &Arc<Self>, owner: Owner, bytes: usize) -> Charge {
        self.used[owner as usize].fetch_add(bytes, Ordering::Relaxed);
        self.announce();
        Charge { budget: self.clone(), owner, bytes }
    }

    /// The bytes that are left for the block cache: never less than a 32nd of the budget. An eighth
    /// of a small budget stays unused, because the allocator keeps about that much memory between
    /// blocks of all sizes, which are allocated and freed all over the heap.
    pub fn cache_capacity(&self) -> usize {
        let memtables = self.memtable_reserve.load(Ordering::Relaxed).max(self.used(Owner::Memtables));
        let jobs = self.job_reserve.max(self.used(Owner::Jobs));
        let between = self.total.min(SMALL_BUDGET) / 8;
        let taken = memtables
            + jobs
            + self.used(Owner::Pinned)
            + self.used(Owner::Dictionaries)
            + self.used(Owner::Overlay)
            + self.used(Owner::Queries)
            + between;
        self.total.saturating_sub(taken).max(self.total / 32)
    }

    /// Sets the listener for changes of the cache's capacity. Later calls have no effect.
    pub(crate) fn listen(&self, listener: Listener) {
        if self.listener.set(listener).is_ok() {
            self.announce();
        }
    }

    /// Passes a changed capacity to the listener, unless the change is too small to justify the
    /// locks.
    fn announce(&self) {
        let Some(listener) = self.listener.get() else { return };
        let capacity = self.cache_capacity();
        let announced = self.announced.load(Ordering::Relaxed);
        if capacity.abs_diff(announced) > self.total / 256 {
            self.announced.store(capacity, Ordering::Relaxed);
            listener(capacity);
        }
    }
}

/// Memory charged to an owner; released on drop.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    owner: Owner,
    bytes: usize,
}

impl Charge {
    /// The bytes charged.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the bytes charged.
    pub fn resize(&mut self, bytes: usize) {
        let used = &self.budget.used[self.owner as usize];
        if bytes >= self.bytes {
            used.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        self.budget.announce();
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests;

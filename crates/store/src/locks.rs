//! The lock table: 64-bit key hashes, shared or exclusive, taken in one global order.
//!
//! A batch takes all its locks before it is numbered and keeps them until it is visible. Blind writes take shared
//! locks, checked writes exclusive ones. Locks are taken in the order of the hashes, so that batches cannot deadlock.
//! Two keys with the same hash share a lock; this costs only time.

use alluvium_env::sync::{Condvar, Mutex};
use hashbrown::HashMap;
use std::sync::Arc;

const PARTS: usize = 64;

/// The mode in which a key is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// For writes that read nothing. Several threads may hold the lock at the same time.
    Shared,
    /// For writes that depend on a read. One thread holds the lock.
    Exclusive,
}

#[derive(Default)]
struct State {
    shared: u32,
    exclusive: bool,
    waiters: u32,
}

#[derive(Default)]
struct Part {
    held: Mutex<HashMap<u64, State>>,
    freed: Condvar,
}

/// The locks of all keys.
pub(crate) struct LockTable {
    parts: Vec<Part>,
}

impl LockTable {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { parts: (0..PARTS).map(|_| Part::default()).collect() })
    }

    fn part(&self, hash: u64) -> &Part {
        &self.parts[(hash >> 58) as usize % PARTS]
    }

    /// Takes all locks in `wanted`, waiting as needed. If a hash occurs twice, it is locked once, in the stronger mode.
    pub fn acquire(self: &Arc<Self>, mut wanted: Vec<(u64, LockMode)>) -> LockGuard {
        wanted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        wanted.dedup_by_key(|w| w.0);
        for &(hash, mode) in &wanted {
            self.take(hash, mode);
        }
        LockGuard { table: self.clone(), held: wanted }
    }

    fn take(&self, hash: u64, mode: LockMode) {
        let part = self.part(hash);
        let mut held = part.held.lock();
        loop {
            let state = held.entry(hash).or_default();
            let free = match mode {
                LockMode::Shared => !state.exclusive,
                LockMode::Exclusive => !state.exclusive && state.shared == 0,
            };
            if free {
                match mode {
                    LockMode::Shared => state.shared += 1,
                    LockMode::Exclusive => state.exclusive = true,
                }
                return;
            }
            state.waiters += 1;
            part.freed.wait(&mut held);
            if let Some(state) = held.get_mut(&hash) {
                state.waiters -= 1;
            }
        }
    }

    fn release(&self, hash: u64, mode: LockMode) {
        let part = self.part(hash);
        let mut held = part.held.lock();
        let Some(state) = held.get_mut(&hash) else { return };
        match mode {
            LockMode::Shared => state.shared -= 1,
            LockMode::Exclusive => state.exclusive = false,
        }
        if state.waiters > 0 {
            part.freed.notify_all();
        } else if state.shared == 0 && !state.exclusive {
            held.remove(&hash);
        }
    }
}

impl LockGuard {
    /// The number of distinct hashes held. It is lower than the number of requested keys if two keys are equal, or,
    /// rarely, if two keys have the same hash.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let keys = [&b"rex"[..], b"tom", b"rex"];
    /// let locks = store.lock(pets, keys, alluvium_store::LockMode::Exclusive);
    /// assert_eq!(locks.len(), 2);
    /// # alluvium_store::Result::Ok(())
    /// ```
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.held.len()
    }
}

/// Locks held on some keys. Dropping this value releases them.
pub struct LockGuard {
    table: Arc<LockTable>,
    held: Vec<(u64, LockMode)>,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        for &(hash, mode) in &self.held {
            self.table.release(hash, mode);
        }
    }
}

#[cfg(all(test, feature = "loom"))]
mod orders;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
#[cfg(test)]
mod tests;

//! Locks by key, for stores without transactions that can read.

use alluvium_env::sync::Mutex;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The number of locks. It is large enough that two threads rarely need the same lock.
const LOCKS: usize = 1024;

/// A fixed number of locks. Each key is mapped to one lock, which it shares with other keys.
#[derive(Debug)]
pub struct Stripes {
    locks: Vec<Mutex<()>>,
}

impl Default for Stripes {
    fn default() -> Self {
        Self { locks: (0..LOCKS).map(|_| Mutex::new(())).collect() }
    }
}

impl Stripes {
    /// Runs `step` while the lock of a key is held.
    pub fn with<T>(&self, key: &[u8], step: impl FnOnce() -> T) -> T {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        let _held = self.locks[hash as usize % LOCKS].lock();
        step()
    }
}

//! Locks by key, for stores without transactions that read.

use alluvium_env::sync::Mutex;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The number of locks, with which two threads rarely meet at one.
const LOCKS: usize = 1024;

/// A fixed number of locks; a key has one of them, which other keys share.
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
    /// Runs `step` while it holds the lock of a key.
    pub fn with<T>(&self, key: &[u8], step: impl FnOnce() -> T) -> T {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        let _held = self.locks[hash as usize % LOCKS].lock();
        step()
    }
}

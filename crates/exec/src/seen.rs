//! The keys of the documents that were returned already.

use crate::source::MemoryAccount;
use hashbrown::HashSet;

/// The memory of a key in the set, in addition to its bytes.
const OVERHEAD: usize = 32;
/// The key length that [`Seen::room`] assumes.
const KEY_BYTES: usize = 256;

/// Keys of documents, up to a memory limit. When the limit is reached, no more keys are added, and
/// the document itself decides whether it was returned before.
pub(crate) struct Seen<A> {
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
    bytes_max: usize,
    account: A,
}

impl<A: MemoryAccount> Seen<A> {
    pub fn new(bytes_max: usize, account: A) -> Self {
        Self { keys: HashSet::new(), bytes: 0, bytes_max, account }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains(key)
    }

    /// Adds a key; returns false if there is no room.
    pub fn add(&mut self, key: &[u8]) -> bool {
        if self.is_full() {
            return false;
        }
        let bytes = self.bytes + key.len() + OVERHEAD;
        if bytes > self.account.bytes() && !self.account.grow(bytes) {
            self.bytes_max = self.bytes;
            return false;
        }
        if self.keys.insert(key.into()) {
            self.bytes = bytes;
        }
        true
    }

    /// Removes a key; returns false if it was not in the set.
    pub fn take(&mut self, key: &[u8]) -> bool {
        self.keys.remove(key)
    }

    pub fn is_full(&self) -> bool {
        self.bytes >= self.bytes_max
    }

    /// The number of keys of up to 256 bytes that certainly fit, plus one.
    pub fn room(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes) / (OVERHEAD + KEY_BYTES) + 1
    }
}

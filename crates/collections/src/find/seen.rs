//! Which documents were met already.

use super::run::Run;
use alluvium_store::Charge;
use hashbrown::HashSet;

/// What a key costs in the set beside its bytes.
const OVERHEAD: usize = 32;
/// The charge follows the set in steps of this many bytes.
const STEP: usize = 64 << 10;

/// Keys of documents that were returned, up to a limit of memory. When that is reached, nothing is added any more, and
/// whoever asks tells by the document whether it was returned before.
pub(crate) struct Seen {
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
    bytes_max: usize,
    charge: Charge,
}

impl Seen {
    pub fn new(run: &Run) -> Self {
        let store = run.view.store();
        let options = store.options();
        let bytes_max = options.tuning.gather_bytes.unwrap_or(options.memory_bytes / 16);
        let bytes_max = bytes_max.min(run.query.seen_bytes_max);
        Self { keys: HashSet::new(), bytes: 0, bytes_max, charge: store.charge(0) }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains(key)
    }

    /// Adds a key; false if there is no room.
    pub fn add(&mut self, key: &[u8]) -> bool {
        if self.is_full() {
            return false;
        }
        if self.keys.insert(key.into()) {
            self.bytes += key.len() + OVERHEAD;
            if self.bytes > self.charge.bytes() {
                self.charge.resize(self.bytes + STEP);
            }
        }
        true
    }

    /// Takes a key out; false if it is not there.
    pub fn take(&mut self, key: &[u8]) -> bool {
        self.keys.remove(key)
    }

    pub fn is_full(&self) -> bool {
        self.bytes >= self.bytes_max
    }
}

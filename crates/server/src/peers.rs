//! Limits the connections of one address.

use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The open connections by address.
pub(crate) struct Peers {
    counts: Mutex<HashMap<String, usize>>,
    /// The most connections of one address; 0 means no limit.
    max: usize,
}

/// A connection that is counted until this value is dropped.
pub(crate) struct Admitted {
    peers: Arc<Peers>,
    host: String,
}

impl Peers {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { counts: Mutex::new(HashMap::new()), max })
    }

    /// Counts a connection of an address; `None` if the address has too many connections.
    pub(crate) fn admit(self: &Arc<Self>, host: &str) -> Option<Admitted> {
        let mut counts = self.counts.lock();
        let count = counts.entry(host.to_owned()).or_default();
        if self.max > 0 && *count >= self.max {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Admitted { peers: Arc::clone(self), host: host.to_owned() })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut counts = self.peers.counts.lock();
        if let Entry::Occupied(mut count) = counts.entry(std::mem::take(&mut self.host)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests;

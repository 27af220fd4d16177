//! The range tombstones of a memtable, stored separately from its entries.
//!
//! They are kept in sets of decreasing size. Two sets are joined when the older is less than twice as large as the
//! next. Therefore a look-up searches a logarithmic number of sets, and a tombstone is copied a logarithmic number of
//! times.

use alluvium_codec::entry::Seq;
use alluvium_codec::ranges::RangeSet;
use alluvium_env::sync::RwLock;
use alluvium_env::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// An older set is at least this many times as large as the next newer one.
const RATIO: usize = 2;

#[derive(Default)]
pub(crate) struct Ranges {
    /// True if there are tombstones, or will be soon. If false, readers need not search.
    any: AtomicBool,
    bytes: AtomicUsize,
    /// Largest first. Sets are replaced, never changed, so that readers can keep them. A leaf in
    /// the lock order.
    sets: RwLock<Vec<Arc<RangeSet>>>,
}

impl Ranges {
    pub(crate) fn expect(&self) {
        self.any.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds tombstones, and drops the numbers that no reader can distinguish from newer ones. Readers are at one of the
    /// ascending `snapshots`, or above the last of them.
    pub(crate) fn add(&self, set: RangeSet, snapshots: &[Seq]) {
        if set.is_empty() {
            return;
        }
        self.expect();
        let mut sets = self.sets.write();
        let mut set = set;
        while let Some(older) = sets.last()
            && older.len() < RATIO * set.len()
        {
            set = older.join(&set, snapshots);
            sets.pop();
        }
        sets.push(Arc::new(set));
        self.bytes.store(sets.iter().map(|set| set.bytes()).sum(), Ordering::Relaxed);
    }

    pub(crate) fn cover(&self, key: &[u8], at: Seq) -> Seq {
        self.sets.read().iter().map(|set| set.cover(key, at)).max().unwrap_or(0)
    }

    pub(crate) fn sets(&self) -> Vec<Arc<RangeSet>> {
        self.sets.read().clone()
    }
}

//! Estimates: about how many keys lie in a range.

use crate::View;
use codec::entry::{EntryIter, Kind, MAX_SEQ};
use env::Result;
use memtable::Memtable;
use std::sync::Arc;

/// So many entries of a memtable are counted; a longer range is taken to go on at least so long.
const COUNTED: u64 = 4096;

impl View {
    /// About how many keys lie from `lower` to below `upper`. Reads the blocks at both ends in each run; a
    /// tombstone counts as one key less.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`] or [`env::Error::Io`].
    pub fn estimate(&self, lower: &[u8], upper: &[u8]) -> Result<u64> {
        let (mut keys, mut deletes) = (0, 0);
        for memtable in std::iter::once(&self.active).chain(&self.immutable) {
            let (puts, gone) = count(memtable, lower, upper);
            keys += puts;
            deletes += gone;
        }
        for run in &self.version.runs {
            for file in run.overlapping(lower, upper) {
                let meta = &file.meta;
                let inside = lower <= meta.smallest.as_slice() && meta.largest.as_slice() < upper;
                let entries = if inside { meta.entries } else { file.reader()?.entries_between(lower, upper)? };
                let tombstones = u128::from(entries) * u128::from(meta.tombstones) / u128::from(meta.entries.max(1));
                let tombstones = u64::try_from(tombstones).unwrap_or(u64::MAX);
                keys += entries.saturating_sub(tombstones);
                deletes += tombstones;
            }
        }
        Ok(keys.saturating_sub(deletes))
    }
}

/// Puts and deletes of a memtable in a range.
fn count(memtable: &Arc<Memtable>, lower: &[u8], upper: &[u8]) -> (u64, u64) {
    if memtable.is_empty() {
        return (0, 0);
    }
    let (mut puts, mut deletes) = (0, 0);
    let mut iter = memtable.iter();
    // A memtable is in memory: its iterator does not fail.
    let mut on = iter.seek(lower, MAX_SEQ).is_ok();
    while on && iter.valid() && iter.key() < upper && puts + deletes < COUNTED {
        match iter.kind() {
            Kind::Delete => deletes += 1,
            _ => puts += 1,
        }
        on = iter.next().is_ok();
    }
    (puts, deletes)
}

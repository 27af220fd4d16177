//! The findings of sweeps about an index, in memory.

use alluvium_store::Seq;
use std::sync::atomic::{AtomicU64, Ordering};

/// The findings of sweeps about an index since the database was opened.
#[derive(Debug, Default)]
pub struct Swept {
    /// Entries per document without stale ones, as the bits of an `f64`; 0 if unknown.
    keys_per_document: AtomicU64,
    /// Entries per document that the last sweep left, including those that a snapshot still needed;
    /// in the same form.
    left_per_document: AtomicU64,
    /// One more than the oldest snapshot that needed stale entries, or 0.
    withheld_by: AtomicU64,
}

impl Swept {
    pub(crate) fn record(&self, per_document: f64, withheld_by: Option<Seq>) {
        let bits = per_document.max(f64::MIN_POSITIVE).to_bits();
        self.left_per_document.store(bits, Ordering::Relaxed);
        self.withheld_by.store(withheld_by.map_or(0, |seq| seq + 1), Ordering::Relaxed);
        if withheld_by.is_none() {
            self.keys_per_document.store(bits, Ordering::Relaxed);
        }
    }

    /// Records the entries per document without stale ones, estimated from a sample. The snapshot
    /// that prevented removals remains recorded.
    pub(crate) fn record_live(&self, per_document: f64) {
        self.keys_per_document.store(per_document.max(f64::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }

    /// The entries per document that a sweep would leave now, estimated from the last one. `oldest`
    /// is the oldest live snapshot.
    pub(crate) fn expected(&self, oldest: Option<Seq>) -> Option<f64> {
        let withheld_by = self.withheld_by.load(Ordering::Relaxed);
        let still = withheld_by > 0 && oldest.is_some_and(|oldest| oldest < withheld_by);
        let known = if still { &self.left_per_document } else { &self.keys_per_document };
        Some(f64::from_bits(known.load(Ordering::Relaxed))).filter(|known| *known > 0.0)
    }
}

//! The findings of sweeps about an index, in memory.

use alluvium_store::Seq;
use std::sync::atomic::{AtomicU64, Ordering};

/// The findings of sweeps about an index since the database was opened.
#[derive(Debug, Default)]
pub struct Swept {
    /// The number of entries per document, without stale entries, as the bits of an `f64`; 0 if unknown.
    keys_per_document: AtomicU64,
    /// The number of entries per document after the last sweep, including stale entries that a snapshot still needed;
    /// in the same form.
    left_per_document: AtomicU64,
    /// The oldest snapshot that needed stale entries, plus one; 0 if none did.
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

    /// Records the number of entries per document, without stale entries, estimated from a sample. The recorded
    /// snapshot that prevented removals does not change.
    pub(crate) fn record_live(&self, per_document: f64) {
        self.keys_per_document.store(per_document.max(f64::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }

    /// The number of entries per document that a sweep would leave now, estimated from the last sweep. `oldest` is the
    /// oldest live snapshot.
    pub(crate) fn expected(&self, oldest: Option<Seq>) -> Option<f64> {
        let withheld_by = self.withheld_by.load(Ordering::Relaxed);
        let still = withheld_by > 0 && oldest.is_some_and(|oldest| oldest < withheld_by);
        let known = if still { &self.left_per_document } else { &self.keys_per_document };
        Some(f64::from_bits(known.load(Ordering::Relaxed))).filter(|known| *known > 0.0)
    }
}

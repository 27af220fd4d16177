//! What sweeps have found of an index, in memory.

use alluvium_store::Seq;
use std::sync::atomic::{AtomicU64, Ordering};

/// What sweeps have found of an index since the database was opened.
#[derive(Debug, Default)]
pub struct Swept {
    /// The bits of a double: how many entries there are to a document when none is stale, as far as it is known; 0 if it is not.
    keys_per_document: AtomicU64,
    /// The same, with what the last sweep had to leave.
    left_per_document: AtomicU64,
    /// One more than the snapshot for which it left that, or 0.
    withheld_by: AtomicU64,
}

impl Swept {
    pub(crate) fn note(&self, per_document: f64, withheld_by: Option<Seq>) {
        let bits = per_document.max(f64::MIN_POSITIVE).to_bits();
        self.left_per_document.store(bits, Ordering::Relaxed);
        self.withheld_by.store(withheld_by.map_or(0, |seq| seq + 1), Ordering::Relaxed);
        if withheld_by.is_none() {
            self.keys_per_document.store(bits, Ordering::Relaxed);
        }
    }

    /// Takes note of how many there are when none is stale, as a sample tells. What a snapshot withholds is withheld still.
    pub(crate) fn note_live(&self, per_document: f64) {
        self.keys_per_document.store(per_document.max(f64::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }

    /// How many entries to a document a sweep would leave now, as far as the last one tells. `oldest` is the oldest snapshot.
    pub(crate) fn expected(&self, oldest: Option<Seq>) -> Option<f64> {
        let withheld_by = self.withheld_by.load(Ordering::Relaxed);
        let still = withheld_by > 0 && oldest.is_some_and(|oldest| oldest < withheld_by);
        let known = if still { &self.left_per_document } else { &self.keys_per_document };
        Some(f64::from_bits(known.load(Ordering::Relaxed))).filter(|known| *known > 0.0)
    }
}

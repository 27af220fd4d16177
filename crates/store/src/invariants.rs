//! Invariants that hold at any moment. Tests check them between the steps of concurrent operations.

use crate::error::Result;
use crate::store::Store;

impl Store {
    /// The invariant that is broken, if one is: the visible number ends a batch, below all batches
    /// that are not visible; snapshots are at or below it; the log has everything that is not in
    /// files; and the invariants of views.
    ///
    /// # Errors
    /// [`crate::Error::Storage`] if the file system does not answer whether a file exists.
    #[doc(hidden)]
    pub fn broken_invariant(&self) -> Result<Option<String>> {
        if let Some(broken) = self.visibility.broken_invariant() {
            return Ok(Some(broken));
        }
        for (number, partition) in self.partitions.iter().enumerate() {
            // In this order: a later view does not need what the log releases after this.
            let oldest = self.wal.oldest_seq();
            let view = partition.view();
            if let Some(unflushed) = view.lowest_unflushed()?.filter(|unflushed| *unflushed < oldest) {
                return Ok(Some(format!(
                    "partition {number} needs number {unflushed}, and the log begins at {oldest}"
                )));
            }
            if let Some(broken) = view.broken_invariant(&*self.env.fs)? {
                return Ok(Some(format!("partition {number}: {broken}")));
            }
        }
        Ok(None)
    }
}

//! Invariants that hold at any moment. Tests check them between the steps of concurrent operations.

use crate::error::Result;
use crate::store::Store;

impl Store {
    /// A description of a broken invariant, or `None` if all hold. The invariants: the visible number ends a batch, and
    /// is below all batches that are not visible; snapshots are at or below the visible number; the log has every
    /// operation that is not in files; and the invariants of views.
    ///
    /// # Errors
    /// [`crate::Error::Storage`] if the file system does not report whether a file exists.
    #[doc(hidden)]
    pub fn broken_invariant(&self) -> Result<Option<String>> {
        if let Some(broken) = self.visibility.broken_invariant() {
            return Ok(Some(broken));
        }
        for (number, partition) in self.partitions.iter().enumerate() {
            // The log is read before the view: the view then cannot need operations that the log releases later.
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

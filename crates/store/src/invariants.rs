//! What holds at any moment, whoever does what. For tests, which look between the steps of others.

use crate::error::Result;
use crate::store::Store;

impl Store {
    /// What does not hold, if anything: what is visible ends a batch below all that are not, snapshots lie at or below it;
    /// the log reaches down to all that is not in files; and what views say of themselves.
    ///
    /// # Errors
    /// [`crate::Error::Storage`] if the operating system does not say whether a file is there.
    #[doc(hidden)]
    pub fn broken_invariant(&self) -> Result<Option<String>> {
        if let Some(broken) = self.visibility.broken_invariant() {
            return Ok(Some(broken));
        }
        for (number, partition) in self.partitions.iter().enumerate() {
            // In this order: what the log lets go of after it was asked, no later view needs.
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

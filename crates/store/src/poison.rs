//! Poisoning ends writing: after a failure of the log or a manifest the store only reads until it is reopened.

use crate::admission::Admission;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::marks;
use crate::partitions::Partitions;
use crate::visibility::Visibility;
use crate::work::WorkSignal;
use alluvium_wal::Wal;
use std::path::PathBuf;
use std::sync::Arc;

/// Ends writing, and wakes every thread that waits for a write.
pub(crate) struct Poison {
    /// The directory of the store.
    pub path: PathBuf,
    pub health: Arc<Health>,
    pub visibility: Arc<Visibility>,
    pub admission: Arc<Admission>,
    pub work: Arc<WorkSignal>,
    pub wal: Arc<Wal>,
    pub partitions: Partitions,
}

impl Poison {
    /// Ends writing. Only the first cause is kept.
    pub fn poison(&self, cause: Error) {
        if self.health.set_poisoned(cause.clone()) {
            marks::STORE_POISONED.hit();
            crate::events::poisoned(&cause);
        }
        self.visibility.fail(&cause);
        self.admission.wake();
        self.work.signal();
    }

    /// Ends writing if the log or a manifest takes no more writes. Called after each piece of work, even if the work
    /// succeeded: a flush may succeed, and the manifest that is begun after it may fail.
    pub fn poison_if_broken(&self) {
        let manifest = || self.partitions.iter().find_map(|p| p.poisoned());
        if let Some(cause) = self.wal.poisoned().or_else(manifest) {
            self.poison(Error::Storage(cause));
        }
    }

    /// Ends writing if the error shows that the directory of the store, or a file in it, was removed.
    pub fn poison_if_displaced(&self, error: &Error) {
        if let Error::Storage(alluvium_env::Error::Displaced { path, .. }) = error
            && path.starts_with(&self.path)
        {
            self.poison(error.clone());
        }
    }

    /// Converts the result of work on files. If the store was closed, a failure becomes [`Error::Closed`]. A failure
    /// that broke the log or a manifest ends writing, even if the work itself had succeeded before the failure.
    pub fn after_work<T>(&self, result: Result<T>) -> Result<T> {
        let closed = result.is_err().then(|| self.health.check_open().err()).flatten();
        if closed.is_none() {
            self.poison_if_broken();
            if let Err(error) = &result {
                self.poison_if_displaced(error);
            }
        }
        result.map_err(|error| closed.unwrap_or(error))
    }
}

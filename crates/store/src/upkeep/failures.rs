//! The last failure of background work, and whether it ends writing.

use crate::admission::{Admission, BackgroundWork};
use crate::error::Error;
use crate::health::Health;
use crate::poison::Poison;
use alluvium_env::sync::Mutex;
use std::sync::Arc;

/// The last failure of background work that did not poison the store.
pub(crate) struct Failures {
    poison: Arc<Poison>,
    health: Arc<Health>,
    admission: Arc<Admission>,
    last: Mutex<Option<Error>>,
}

impl Failures {
    pub fn new(poison: Arc<Poison>) -> Self {
        let (health, admission) = (poison.health.clone(), poison.admission.clone());
        Self { poison, health, admission, last: Mutex::new(None) }
    }

    /// The last failure; `None` after a success.
    pub fn last(&self) -> Option<Error> {
        self.last.lock().clone()
    }

    /// Records a failure of background work, or clears it after a success.
    pub fn note(&self, error: Option<Error>) {
        // The work is tried again at every tick, and may fail each time. Only the first failure is logged.
        let first = error.clone().filter(|_| self.last.lock().is_none());
        *self.last.lock() = error;
        if let Some(error) = first {
            crate::events::background_failed(&error);
        }
    }

    /// Ends writing if the log or a manifest is broken.
    pub fn poison_if_broken(&self) {
        self.poison.poison_if_broken();
    }

    /// Handles a failed flush or compaction. Writing ends if the log or a manifest failed, or if the directory was
    /// removed. After other failures (a full disk, a damaged input), the work is tried again at the next tick; the
    /// statistics show the failure, and writers that wait for memory return it.
    pub fn failed(&self, work: BackgroundWork, error: Error) {
        self.poison_if_broken();
        self.poison.poison_if_displaced(&error);
        if self.health.check_writable().is_err() {
            return;
        }
        match &error {
            Error::Closed | Error::Poisoned(_) | Error::OutcomeUnknown(_) => return,
            _ => self.admission.blocked(work, error.clone().named_if_full()),
        }
        self.note(Some(error));
    }
}

//! Reads a database in the middle of a flush or a compaction. Between any two changes to the disk, the content must be
//! the same, and snapshots that are taken at that time must remain valid.

use crate::model::{State, read_state};
use alluvium::{Database, Snapshot};
use alluvium_env::fault::{Hook, Op};
use alluvium_env::sync::Mutex;
use std::sync::Arc;

/// The database that the observer reads.
struct Open {
    db: Database,
    state: State,
    rng: fastrand::Rng,
    taken: Vec<Snapshot>,
    /// The first wrong result. A panic must not unwind through the hook, because the store is in the middle of an
    /// operation.
    broken: Option<String>,
}

/// Reads the database in a hook, while an operation runs that changes no document.
#[derive(Clone, Default)]
pub(crate) struct Observer {
    open: Arc<Mutex<Option<Open>>>,
}

impl Observer {
    /// Starts observing the database.
    pub fn open(&self, db: &Database, state: &State, seed: u64) {
        let rng = fastrand::Rng::with_seed(seed);
        let (db, state) = (db.clone(), state.clone());
        *self.open.lock() = Some(Open { db, state, rng, taken: Vec::new(), broken: None });
    }

    /// Stops observing, and returns the snapshots that were taken.
    ///
    /// # Panics
    /// If a read returned a wrong result.
    pub fn close(&self) -> Vec<Snapshot> {
        let Some(open) = self.open.lock().take() else { return Vec::new() };
        if let Some(broken) = open.broken {
            panic!("{broken}");
        }
        open.taken
    }

    /// The hook, which reads before some of the changes.
    pub fn hook(&self) -> Hook {
        let observer = self.clone();
        Arc::new(move |op: &Op<'_>| {
            if let Some(open) = &mut *observer.open.lock() {
                open.look(op);
            }
        })
    }
}

impl Open {
    fn look(&mut self, op: &Op<'_>) {
        if self.broken.is_some() || self.rng.u8(0..5) > 0 {
            return;
        }
        if self.taken.len() < 2 && self.rng.bool() {
            self.taken.push(self.db.snapshot());
        }
        let at = || format!("before {:?} of {}", op.kind, op.path.display());
        match read_state(&self.db) {
            Ok(found) if found == self.state => {}
            Ok(found) => {
                let difference = self.state.difference(&found);
                self.broken = Some(format!("{}, expected and found differ:\n{difference}", at()));
            }
            Err(error) => self.broken = Some(format!("{}: {error}", at())),
        }
    }
}

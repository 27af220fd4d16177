//! Holds on the log. No segment is removed while a checkpoint reads the log, or after an open accepted damage in the
//! log.
//!
//! Lock order: the lock in this module is a leaf. A thread that removes segments does not hold it during the removal. A
//! thread that takes a hold waits until running removals have ended.

use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex};

/// Holds on the log, and running removals.
#[derive(Default)]
pub(crate) struct Holds {
    state: Mutex<State>,
    changed: Condvar,
    ingested: AtomicU64,
    /// The log was damaged when the store was opened: see [`crate::Store::discard_damage`].
    damaged: AtomicBool,
}

#[derive(Default)]
struct State {
    holds: usize,
    removing: usize,
}

/// Keeps all segments of the log until it is dropped.
pub(crate) struct Hold<'a>(&'a Holds);

/// The right to remove segments. It ends when this is dropped.
pub(crate) struct Removing<'a>(&'a Holds);

impl Holds {
    pub fn new(damaged: bool) -> Self {
        Self { damaged: AtomicBool::new(damaged), ..Self::default() }
    }

    /// Keeps every segment that exists when this call returns.
    pub fn hold(&self) -> Hold<'_> {
        let mut state = self.state.lock();
        state.holds += 1;
        while state.removing > 0 {
            self.changed.wait(&mut state);
        }
        Hold(self)
    }

    /// Allows the removal of segments; `None` while the log is held.
    pub fn removing(&self) -> Option<Removing<'_>> {
        let mut state = self.state.lock();
        if state.holds > 0 {
            return None;
        }
        state.removing += 1;
        Some(Removing(self))
    }

    /// The number of runs ingested so far. An ingested run is not in the log. Therefore a thread that copies files and
    /// log compares the counts before and after the copy.
    pub fn ingested(&self) -> u64 {
        self.ingested.load(Ordering::SeqCst)
    }

    /// Counts an ingested run. Must be called before the log mentions the run.
    pub fn note_ingest(&self) {
        self.ingested.fetch_add(1, Ordering::SeqCst);
    }

    /// True while the log is damaged, and no segment is removed.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::SeqCst)
    }

    /// Sets whether the log is damaged. Returns the previous state.
    pub fn set_damaged(&self, damaged: bool) -> bool {
        self.damaged.swap(damaged, Ordering::SeqCst)
    }

    /// True while no segment may be removed, even if everything is flushed.
    pub fn keep_all(&self) -> bool {
        self.state.lock().holds > 0 || self.is_damaged()
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.state.lock().holds -= 1;
    }
}

impl Drop for Removing<'_> {
    fn drop(&mut self) {
        self.0.state.lock().removing -= 1;
        self.0.changed.notify_all();
    }
}

//! Who needs the log as it is: while a checkpoint reads it, no segment is let go.
//!
//! Lock order: the lock in here is a leaf. Nobody holds it while segments are removed; who wants to hold
//! the log waits until those who remove are done.

use alluvium_env::sync::atomic::{AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex};

/// Holds on the log, and removals under way.
#[derive(Default)]
pub(crate) struct Holds {
    state: Mutex<State>,
    changed: Condvar,
    ingested: AtomicU64,
}

#[derive(Default)]
struct State {
    holds: usize,
    removing: usize,
}

/// Keeps the log until it is dropped.
pub(crate) struct Hold<'a>(&'a Holds);

/// Somebody lets segments go, until it is dropped.
pub(crate) struct Removing<'a>(&'a Holds);

impl Holds {
    /// Keeps every segment that is there when this returns.
    pub fn hold(&self) -> Hold<'_> {
        let mut state = self.state.lock();
        state.holds += 1;
        while state.removing > 0 {
            self.changed.wait(&mut state);
        }
        Hold(self)
    }

    /// Allows to let segments go; `None` while the log is held.
    pub fn removing(&self) -> Option<Removing<'_>> {
        let mut state = self.state.lock();
        if state.holds > 0 {
            return None;
        }
        state.removing += 1;
        Some(Removing(self))
    }

    /// So many runs were ingested: they are in no log, so whoever copies files and log compares.
    pub fn ingested(&self) -> u64 {
        self.ingested.load(Ordering::SeqCst)
    }

    /// A run is there, and will be noted in the log.
    pub fn note_ingest(&self) {
        self.ingested.fetch_add(1, Ordering::SeqCst);
    }

    /// True while the log is held.
    pub fn held(&self) -> bool {
        self.state.lock().holds > 0
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

//! Which waits for the transactions of others a write may have.

use alluvium_env::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// How the writes of one command wait for transactions that have written the same documents. For programs that serve many
/// clients by few threads.
///
/// The first write does not wait: it fails with [`alluvium_store::Error::Claimed`] at once, so that the program can execute
/// the whole command later. Once a write of the command was made, others wait on their threads, if not too many writes of
/// all commands wait already.
#[derive(Debug)]
pub struct Patience {
    has_written: AtomicBool,
    waiting: Arc<AtomicUsize>,
    waiting_max: usize,
}

/// A write that waits.
pub(super) struct Waiting<'a>(&'a AtomicUsize);

impl Patience {
    /// The patience of a command. `waiting` counts the writes that wait in all commands, of which there may be
    /// `waiting_max`.
    pub fn new(waiting: Arc<AtomicUsize>, waiting_max: usize) -> Self {
        Self { has_written: AtomicBool::new(false), waiting, waiting_max }
    }

    /// True if a write of the command was made.
    pub fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// Begins to wait; `None` if the write may not wait.
    pub(super) fn begin(&self) -> Option<Waiting<'_>> {
        if !self.has_written() {
            return None;
        }
        let waiting = Waiting(&self.waiting);
        (self.waiting.fetch_add(1, Ordering::Relaxed) < self.waiting_max).then_some(waiting)
    }

    /// Notes that a write of the command was made.
    pub(super) fn note_written(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

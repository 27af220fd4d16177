//! Holds writes back while `fsync` has locked the server.
//!
//! A write enters the gate before it is executed, and leaves it when it has ended. A lock closes the gate, and waits for
//! the writes that are in it. Writes that find it closed wait without a thread, so that they leave the threads to reads
//! and to `fsyncUnlock`.

use alluvium_env::sync::{Condvar, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The gate.
#[derive(Default)]
pub(crate) struct WriteGate {
    state: Mutex<State>,
    /// Notified when the last write has left.
    left: Condvar,
    /// Notified when the last lock has ended.
    opened: Notify,
}

#[derive(Default)]
struct State {
    locks: u64,
    writes: usize,
}

/// A write in the gate, until this is dropped.
pub(crate) struct Writing<'a> {
    gate: &'a WriteGate,
}

impl WriteGate {
    /// Enters the gate; `None` while it is closed.
    pub(crate) fn enter(&self) -> Option<Writing<'_>> {
        let mut state = self.state.lock();
        if state.locks > 0 {
            return None;
        }
        state.writes += 1;
        Some(Writing { gate: self })
    }

    /// Waits until the gate is open, or for this time.
    pub(crate) async fn wait(&self, limit: Duration) {
        let opened = self.opened.notified();
        if self.locks() > 0 {
            // Whether it was opened is seen by entering it.
            let _opened = tokio::time::timeout(limit, opened).await;
        }
    }

    /// Closes the gate, and waits for the writes in it. Returns the number of locks; `None` if the writes took longer
    /// than the limit; the gate is unchanged then.
    pub(crate) fn lock(&self, limit: Duration) -> Option<u64> {
        let mut state = self.state.lock();
        state.locks += 1;
        while state.writes > 0 {
            if self.left.wait_for(&mut state, limit) && state.writes > 0 {
                state.locks -= 1;
                let is_open = state.locks == 0;
                drop(state);
                if is_open {
                    self.opened.notify_waiters();
                }
                return None;
            }
        }
        Some(state.locks)
    }

    /// Ends a lock, and returns the number of those that remain; `None` if the gate is open.
    pub(crate) fn unlock(&self) -> Option<u64> {
        let mut state = self.state.lock();
        state.locks = state.locks.checked_sub(1)?;
        let remaining = state.locks;
        drop(state);
        if remaining == 0 {
            self.opened.notify_waiters();
        }
        Some(remaining)
    }

    /// The number of locks.
    pub(crate) fn locks(&self) -> u64 {
        self.state.lock().locks
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock();
        state.writes -= 1;
        if state.writes == 0 {
            drop(state);
            self.gate.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;

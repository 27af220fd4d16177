//! Blocks writes while `fsync` has locked the server.
//!
//! A write enters the gate before it is executed, and leaves the gate when it ends. A lock closes the gate, and waits
//! until the writes inside have left. Writes that find the gate closed wait without a thread, so that the threads
//! remain free for reads and for `fsyncUnlock`.

use alluvium_env::sync::{Condvar, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The gate for writes.
#[derive(Default)]
pub(crate) struct WriteGate {
    state: Mutex<State>,
    /// Notified when the last write has left the gate.
    left: Condvar,
    /// Notified when the last lock is released.
    opened: Notify,
}

#[derive(Default)]
struct State {
    locks: u64,
    writes: usize,
}

/// A write that is inside the gate until this value is dropped.
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

    /// Waits until the gate is open, for at most this time.
    pub(crate) async fn wait(&self, limit: Duration) {
        let opened = self.opened.notified();
        if self.locks() > 0 {
            // The caller tries to enter again, and so learns whether the gate is open.
            let _opened = tokio::time::timeout(limit, opened).await;
        }
    }

    /// Closes the gate, and waits for the writes inside. Returns the number of locks. Returns `None` if the writes took
    /// longer than the limit; the gate is unchanged then.
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

    /// Releases a lock, and returns the number of remaining locks; `None` if the gate is open.
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

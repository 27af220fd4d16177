//! Signals between the threads that create background work and the worker threads that do it.

use alluvium_env::sync::{Condvar, Mutex};
use std::time::Duration;

/// A worker checks for work at least this often, because snapshots grow old, and space becomes free, without a signal.
const TICK: Duration = Duration::from_millis(500);
/// A thread that waits for workers checks the store at least this often.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Wakes workers, and the threads that wait for them.
#[derive(Default)]
pub(crate) struct WorkSignal {
    state: Mutex<WorkState>,
    /// Notified when there may be work.
    work: Condvar,
    /// Notified when a worker has ended a piece of work.
    idle: Condvar,
}

#[derive(Default)]
struct WorkState {
    /// Incremented by every signal, so that a worker that found no work does not miss one.
    signals: u64,
    busy: usize,
    stop: bool,
}

/// The outcome of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkOutcome {
    /// Something was done; there may be more.
    Done,
    /// There was nothing to do.
    Nothing,
    /// The work failed, and is tried again at the next tick.
    Failed,
}

impl WorkSignal {
    /// Signals that there may be work.
    pub fn signal(&self) {
        self.state.lock().signals += 1;
        self.work.notify_all();
    }

    /// Ends the worker threads after their current piece of work.
    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.work.notify_all();
        self.idle.notify_all();
    }

    pub fn is_stopping(&self) -> bool {
        self.state.lock().stop
    }

    /// Waits until a worker has ended a piece of work, for a short time at most.
    pub fn wait_for_worker(&self) {
        let mut state = self.state.lock();
        self.idle.wait_for(&mut state, LOOK_AGAIN);
    }

    /// The number of signals so far.
    #[cfg(test)]
    pub fn signals(&self) -> u64 {
        self.state.lock().signals
    }

    /// The number of workers that are doing something.
    pub fn busy(&self) -> usize {
        self.state.lock().busy
    }

    /// The loop of a worker thread. Calls `work` until the pool is stopped; when there is nothing to do, waits for a
    /// signal or a tick.
    pub fn run(&self, work: impl Fn() -> WorkOutcome) {
        loop {
            let seen = {
                let mut state = self.state.lock();
                if state.stop {
                    return;
                }
                state.busy += 1;
                state.signals
            };
            let outcome = work();
            let mut state = self.state.lock();
            state.busy -= 1;
            self.idle.notify_all();
            if state.stop {
                return;
            }
            let pause = match outcome {
                WorkOutcome::Done => false,
                WorkOutcome::Nothing => state.signals == seen,
                WorkOutcome::Failed => true,
            };
            if pause {
                self.work.wait_for(&mut state, TICK);
            }
        }
    }
}

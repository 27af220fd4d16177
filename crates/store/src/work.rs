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
    /// The numbers of the pieces of work that are under way.
    under_way: Vec<u64>,
    /// The number of the next piece of work.
    next: u64,
    /// The pieces of work in which something was done.
    done: u64,
    stop: bool,
}

/// A moment in the work of all workers: see [`WorkSignal::is_quiet_since`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// The number of the next piece of work.
    pub next: u64,
    /// The pieces of work in which something was done.
    pub done: u64,
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

    /// The number of workers that look for work or do it.
    #[cfg(test)]
    pub fn busy(&self) -> usize {
        self.state.lock().under_way.len()
    }

    /// True if no worker looks for work or does it.
    pub fn is_idle(&self) -> bool {
        self.state.lock().under_way.is_empty()
    }

    /// The present moment.
    pub fn moment(&self) -> Moment {
        let state = self.state.lock();
        Moment { next: state.next, done: state.done }
    }

    /// True if all work that was under way at that moment has ended, and nothing was done since. If nothing was due at
    /// the moment, then nothing is being done now: work that began later has found nothing. Unlike
    /// [`WorkSignal::is_idle`], this is true soon, however often the workers look for work.
    pub fn is_quiet_since(&self, moment: Moment) -> bool {
        let state = self.state.lock();
        state.done == moment.done && state.under_way.iter().all(|number| *number >= moment.next)
    }

    /// The loop of a worker thread. Calls `work` until the pool is stopped; when there is nothing to do, waits for a
    /// signal or a tick.
    pub fn run(&self, work: impl Fn() -> WorkOutcome) {
        loop {
            let (number, seen) = {
                let mut state = self.state.lock();
                if state.stop {
                    return;
                }
                let number = state.next;
                state.next += 1;
                state.under_way.push(number);
                (number, state.signals)
            };
            let outcome = work();
            let mut state = self.state.lock();
            state.under_way.retain(|other| *other != number);
            state.done += u64::from(outcome == WorkOutcome::Done);
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

//! Admission control: writers are slowed in proportion to debt, so that they never stall.
//!
//! Debt is a number from 0 to 1: how full the space for sealed memtables is, how many runs wait
//! to be merged, how many bytes compaction is behind; the largest counts. Up to one half,
//! writers run free. Above it they share a rate that falls in a straight line from twice the
//! rate at which flushes drain to nothing at debt 1, so that it settles where writing and
//! draining are equal. Waiting is on a condition variable that every flush signals.

use crate::store::Inner;
use crate::{Error, Result};
use env::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Below this delay a writer goes on and leaves it to the next.
const SHORT: Duration = Duration::from_millis(1);
/// A writer looks at the debt again after this long at the latest.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Debt up to which writers run free.
const FREE: f64 = 0.5;
/// The rate assumed before anything has been flushed, in bytes per second.
const FIRST_RATE: f64 = 64e6;
/// Runs of a partition that are no debt, and those that are debt 1.
const RUNS_FREE: f64 = 4.0;
const RUNS_FULL: f64 = 24.0;

/// The pace of the writers.
pub(crate) struct Admission {
    state: Mutex<State>,
    drained: Condvar,
    /// The bits of the debt as last measured, so that writers need not measure it.
    debt: AtomicU64,
}

struct State {
    /// When the bytes admitted so far are paid for, on the environment's clock.
    paid_until: Duration,
    /// Bytes per second that flushes drain: an average that forgets.
    drain_rate: f64,
    waits: u64,
    waited: Duration,
    /// The last flush failed for want of space.
    no_space: Option<Error>,
}

impl Admission {
    pub fn new() -> Self {
        let state = State {
            paid_until: Duration::ZERO,
            drain_rate: FIRST_RATE,
            waits: 0,
            waited: Duration::ZERO,
            no_space: None,
        };
        Self { state: Mutex::new(state), drained: Condvar::new(), debt: AtomicU64::new(0) }
    }

    /// Notes that `bytes` of memtable went to disk in `took`, and wakes writers.
    pub fn flushed(&self, bytes: u64, took: Duration) {
        let mut state = self.state.lock();
        let rate = bytes as f64 / took.as_secs_f64().max(1e-3);
        state.drain_rate = 0.7 * state.drain_rate + 0.3 * rate.clamp(1e6, 1e10);
        state.no_space = None;
        self.drained.notify_all();
    }

    /// Notes why flushing makes no progress, so that waiting writers are told.
    pub fn blocked(&self, cause: Error) {
        self.state.lock().no_space = Some(cause);
        self.drained.notify_all();
    }

    /// Wakes writers to look at the state of the store.
    pub fn wake(&self) {
        self.drained.notify_all();
    }

    /// Waits so far: their number and their sum.
    pub fn waits(&self) -> (u64, Duration) {
        let state = self.state.lock();
        (state.waits, state.waited)
    }
}

/// The rate allowed at a debt above [`FREE`].
fn allowed_rate(debt: f64, drain_rate: f64) -> f64 {
    let left = ((1.0 - debt) / (1.0 - FREE)).clamp(0.0, 1.0);
    (2.0 * drain_rate * left).max(drain_rate * 0.02)
}

impl Inner {
    /// Measures the debt, from 0 (none) to 1 and beyond. Called wherever it may have changed: by
    /// the leader after a seal, by workers after a flush or compaction.
    pub(crate) fn measure_debt(&self) -> f64 {
        let mut immutable = 0;
        let mut worst = 0.0f64;
        for partition in &self.partitions {
            let debt = partition.debt();
            immutable += debt.immutable_bytes;
            worst = worst.max((debt.runs as f64 - RUNS_FREE) / (RUNS_FULL - RUNS_FREE));
            let allowed = self.options.memory_bytes as f64 * 2.0;
            worst = worst.max(debt.compaction_bytes as f64 / allowed);
        }
        let active: usize = self.partitions.iter().map(|p| p.active().charged_bytes()).sum();
        self.shared.budget.set(lsm::Owner::Memtables, active + immutable as usize);
        let debt = worst.max(immutable as f64 / (self.options.memtable_bytes() as f64 / 2.0));
        self.admission.debt.store(debt.to_bits(), Ordering::Relaxed);
        debt
    }

    /// The debt as last measured.
    pub(crate) fn debt(&self) -> f64 {
        f64::from_bits(self.admission.debt.load(Ordering::Relaxed))
    }

    /// Admits a batch of `bytes`, waiting as long as the debt asks for.
    pub(crate) fn admit(&self, bytes: usize) -> Result<()> {
        let limit = self.options.max_batch_bytes();
        if bytes > limit {
            return Err(Error::BatchTooLarge { bytes: bytes as u64, limit: limit as u64 });
        }
        let mut debt = self.debt();
        if debt <= FREE {
            return Ok(());
        }
        let mut state = self.admission.state.lock();
        let started = self.env.clock.now();
        let mut due = state.paid_until.max(started);
        due += Duration::from_secs_f64(bytes as f64 / allowed_rate(debt, state.drain_rate));
        state.paid_until = due;
        let mut now = started;
        // Memory is a bound, not a pace: at debt 1 nothing more fits.
        while debt >= 1.0 || due > now + SHORT {
            self.writable()?;
            if let (true, Some(cause)) = (debt >= 1.0, &state.no_space) {
                return Err(cause.clone());
            }
            let wait = due.saturating_sub(now).clamp(SHORT, LOOK_AGAIN);
            self.admission.drained.wait_for(&mut state, wait);
            debt = self.measure_debt();
            if debt <= FREE {
                state.paid_until = self.env.clock.now();
                break;
            }
            let later = self.env.clock.now();
            if later == now && debt < 1.0 {
                // A clock that stands still (tests) must not hold writers for ever.
                break;
            }
            now = later;
        }
        state.waits += 1;
        state.waited += self.env.clock.now().saturating_sub(started);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Admission control slows writers in proportion to debt, so that they never stall.
//!
//! Debt is a number from 0 to 1, the largest of three figures: how full the space for sealed memtables is, how many
//! runs wait to be merged, and how many bytes compaction is behind. Up to a debt of one half, writers are not slowed.
//! Above it they share a rate that falls linearly from twice the rate of the flushes to zero at debt 1. Therefore the
//! debt settles where writers and flushes are equally fast. The memory of a batch is reserved at its admission, so that
//! many threads with large batches also stay within the budget. Writers wait on condition variables, in the order of
//! arrival; flushes and written batches signal the writer at the front.

mod debt;

use crate::error::{Error, Result};
use crate::health::Health;
use crate::marks;
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicUsize, Ordering};
use alluvium_env::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use debt::Debt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A writer does not wait if its delay is shorter than this; the delay is added to the next writer's.
const SHORT: Duration = Duration::from_millis(1);
/// A writer measures the debt again after this time at the latest.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Up to this debt, writers are not slowed.
const FREE: f64 = 0.5;
/// The rate assumed before anything has been flushed, in bytes per second.
const FIRST_RATE: f64 = 64e6;

/// Background work that writers may wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BackgroundWork {
    /// Memtables are written to disk, and segments of the log are removed.
    Flush,
    /// Runs are merged.
    Compaction,
}

/// The pace of the writers, and the memory that they are about to fill.
pub(crate) struct Admission {
    health: Arc<Health>,
    clock: Arc<dyn Clock>,
    debt: Debt,
    max_batch_bytes: usize,
    state: Mutex<State>,
    /// Bytes of admitted batches that are not in the memtables yet.
    reserved: AtomicUsize,
    /// The length of the queue. A batch that arrives later must not overtake the queue, because a large batch would
    /// starve.
    queued: AtomicUsize,
}

struct State {
    /// First come, first served. Each writer waits on its own condition variable. The writer at the front waits for its
    /// admission; the others wait for their turn.
    queue: VecDeque<Arc<Condvar>>,
    /// Bytes that were admitted above the debt [`FREE`], less the bytes that the allowed rate has covered since.
    owed: f64,
    /// When `owed` was last brought up to date.
    paid_at: Duration,
    /// Bytes per second that flushes write: a moving average.
    drain_rate: f64,
    waits: Waits,
    /// Why the last flush failed.
    flush_failed: Option<Error>,
    /// Why the last compaction failed.
    compaction_failed: Option<Error>,
}

/// The waits of writers since the store was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    pub count: u64,
    pub time: Duration,
}

/// The memory reserved for a batch, from its admission until the batch is written or abandoned. Dropping this value
/// frees the memory.
#[must_use = "the memory is reserved only while this lives"]
pub struct Admitted<'a> {
    admission: &'a Admission,
    bytes: usize,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.admission.reserved.fetch_sub(self.bytes, Ordering::SeqCst);
        if self.admission.queued.load(Ordering::SeqCst) > 0 {
            self.admission.wake();
        }
    }
}

impl State {
    /// Reduces `owed` by the bytes that `rate` allowed since the last call, or to 0 at a debt up to [`FREE`].
    fn pay(&mut self, now: Duration, debt: f64, rate: f64) {
        let paid = rate * now.saturating_sub(self.paid_at).as_secs_f64();
        self.owed = if debt <= FREE { 0.0 } else { (self.owed - paid).max(0.0) };
        self.paid_at = now;
    }

    fn wake_front(&self) {
        if let Some(front) = self.queue.front() {
            front.notify_one();
        }
    }
}

impl Admission {
    pub fn new(health: Arc<Health>, clock: Arc<dyn Clock>, debt: Debt, max_batch_bytes: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            owed: 0.0,
            paid_at: Duration::ZERO,
            drain_rate: FIRST_RATE,
            waits: Waits::default(),
            flush_failed: None,
            compaction_failed: None,
        };
        let (reserved, queued) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { health, clock, debt, max_batch_bytes, state: Mutex::new(state), reserved, queued }
    }

    /// Measures the debt of background work.
    pub fn measure_debt(&self) -> f64 {
        self.debt.measure()
    }

    /// The debt of the last measurement.
    pub fn debt(&self) -> f64 {
        self.debt.total()
    }

    /// Notes that `bytes` of memtable were flushed in `took`, and wakes writers.
    pub fn flushed(&self, bytes: u64, took: Duration) {
        let mut state = self.state.lock();
        let rate = bytes as f64 / took.as_secs_f64().max(1e-3);
        state.drain_rate = 0.7 * state.drain_rate + 0.3 * rate.clamp(1e6, 1e10);
        state.flush_failed = None;
        state.wake_front();
    }

    /// Notes that a compaction succeeded, and wakes writers.
    pub fn compacted(&self) {
        let mut state = self.state.lock();
        state.compaction_failed = None;
        state.wake_front();
    }

    /// Records why flushes or compactions make no progress, so that waiting writers return the cause.
    pub fn blocked(&self, work: BackgroundWork, cause: Error) {
        let mut state = self.state.lock();
        match work {
            BackgroundWork::Flush => state.flush_failed = Some(cause),
            BackgroundWork::Compaction => state.compaction_failed = Some(cause),
        }
        state.wake_front();
    }

    /// The error for a waiting batch of `bytes` if the work that it waits for has failed.
    fn in_vain(&self, state: &State, bytes: usize) -> Option<Error> {
        let for_flush = || self.debt.is_full_of_memtables() || self.needs_a_flush(bytes);
        let flush = state.flush_failed.as_ref().filter(|_| for_flush());
        let compaction = || state.compaction_failed.as_ref().filter(|_| self.debt.is_full_of_runs());
        flush.or_else(compaction).cloned()
    }

    /// Wakes the writer at the front, which then checks the state of the store.
    pub fn wake(&self) {
        self.state.lock().wake_front();
    }

    /// The waits so far.
    pub fn waits(&self) -> Waits {
        self.state.lock().waits
    }

    /// True if a batch of `bytes` does not fit next to the sealed memtables.
    fn needs_a_flush(&self, bytes: usize) -> bool {
        !self.debt.nothing_sealed() && memory_of(bytes) > self.debt.room()
    }

    /// Refuses a batch that is larger than the memory budget allows.
    pub fn check_size(&self, bytes: usize) -> Result<()> {
        match bytes > self.max_batch_bytes {
            true => Err(Error::BatchTooLarge { bytes: bytes as u64, limit: self.max_batch_bytes as u64 }),
            false => Ok(()),
        }
    }

    /// Admits a batch of `bytes` if the batch need not wait.
    pub fn try_admit(&self, bytes: usize) -> Option<Admitted<'_>> {
        let free = self.debt() <= FREE && self.queued.load(Ordering::SeqCst) == 0;
        if free { self.try_reserve(bytes) } else { None }
    }

    /// Admits a batch of `bytes`: waits as long as the debt demands, and reserves its memory.
    pub fn admit(&self, bytes: usize) -> Result<Admitted<'_>> {
        self.check_size(bytes)?;
        match self.try_admit(bytes) {
            Some(admitted) => Ok(admitted),
            None => self.wait(bytes),
        }
    }

    fn wait(&self, bytes: usize) -> Result<Admitted<'_>> {
        let turn = Arc::new(Condvar::new());
        let mut state = self.state.lock();
        self.queued.fetch_add(1, Ordering::SeqCst);
        state.queue.push_back(turn.clone());
        let started = self.clock.now();
        while state.queue.front().is_some_and(|front| !Arc::ptr_eq(front, &turn)) {
            turn.wait_for(&mut state, LOOK_AGAIN);
        }
        let outcome = self.wait_at_front(&mut state, &turn, bytes);
        state.queue.pop_front();
        self.queued.fetch_sub(1, Ordering::SeqCst);
        state.wake_front();
        let waited = self.clock.now().saturating_sub(started);
        state.waits.count += u64::from(waited > Duration::ZERO);
        state.waits.time += waited;
        drop(state);
        crate::events::took("waiting for flushes and compactions, before a write,", waited);
        outcome
    }

    /// Waits at the front of the queue until the batch is admitted.
    fn wait_at_front(&self, state: &mut MutexGuard<'_, State>, turn: &Condvar, bytes: usize) -> Result<Admitted<'_>> {
        let mut debt = self.debt();
        let mut looked = None;
        let mut waited = false;
        loop {
            self.health.check_writable()?;
            let now = self.clock.now();
            let rate = allowed_rate(debt, state.drain_rate);
            state.pay(now, debt, rate);
            // If the clock does not move (in tests), a writer must not wait forever.
            let delay = if looked == Some(now) { Duration::ZERO } else { delay(state.owed, rate) };
            looked = Some(now);
            // Below debt 1 writers are only slowed down; at 1 no batch is admitted, since memory is a hard limit.
            if debt < 1.0
                && delay <= SHORT
                && let Some(admitted) = self.try_reserve(bytes)
            {
                if debt > FREE {
                    state.owed += bytes as f64;
                }
                return Ok(admitted);
            }
            if let Some(cause) = self.in_vain(state, bytes) {
                return Err(cause);
            }
            if !waited {
                marks::WRITER_WAITED.hit();
                waited = true;
            }
            // A flush wakes the writer at the front, and so does a batch that frees its memory.
            turn.wait_for(state, if delay > SHORT { delay } else { LOOK_AGAIN });
            debt = self.measure_debt();
        }
    }

    /// Reserves memory for a batch of `bytes`, if there is room. If no memtable is sealed, a batch without other
    /// reservations may exceed the room. Otherwise the batch waits for the next flush.
    fn try_reserve(&self, bytes: usize) -> Option<Admitted<'_>> {
        let bytes = memory_of(bytes);
        let (room, alone) = (self.debt.room(), self.debt.nothing_sealed());
        let more = |reserved: usize| (alone && reserved == 0 || reserved + bytes <= room).then_some(reserved + bytes);
        self.reserved.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok()?;
        Some(Admitted { admission: self, bytes })
    }

    /// Reserves memory even if there is no room.
    pub fn reserve(&self, bytes: usize) -> Admitted<'_> {
        let bytes = memory_of(bytes);
        self.reserved.fetch_add(bytes, Ordering::SeqCst);
        Admitted { admission: self, bytes }
    }
}

/// The rate allowed at a debt above [`FREE`].
fn allowed_rate(debt: f64, drain_rate: f64) -> f64 {
    let left = ((1.0 - debt) / (1.0 - FREE)).clamp(0.0, 1.0);
    (2.0 * drain_rate * left).max(drain_rate * 0.02)
}

/// The bytes of memtables that a batch of `bytes` fills. The index, and the unused end of a chunk that is too short for
/// a large entry, add less than an eighth.
fn memory_of(bytes: usize) -> usize {
    bytes + bytes / 8
}

/// The time until `rate` has covered `owed` bytes; at most [`LOOK_AGAIN`].
fn delay(owed: f64, rate: f64) -> Duration {
    Duration::from_secs_f64((owed / rate).clamp(0.0, LOOK_AGAIN.as_secs_f64()))
}

#[cfg(test)]
mod tests;

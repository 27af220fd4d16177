//! Admission control: writers are slowed in proportion to debt, so that they never stall.
//!
//! Debt is a number from 0 to 1: how full the space for sealed memtables is, how many runs wait
//! to be merged, how many bytes compaction is behind; the largest counts. Up to one half,
//! writers run free. Above it they share a rate that falls in a straight line from twice the
//! rate at which flushes drain to nothing at debt 1, so that it settles where writing and
//! draining are equal. What a batch will take is reserved before it goes on, so that many threads
//! with large batches stay within the budget too. Waiting is on condition variables, in the order
//! of arrival; flushes and batches that are through signal the front.

use crate::marks;
use crate::store::Inner;
use crate::{Error, Result};
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use alluvium_env::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
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

/// What writers may wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upkeep {
    /// Memtables go to disk, and the log gives way.
    Flush,
    /// Runs are merged.
    Compaction,
}

/// The pace of the writers, and the memory that they are about to fill.
pub(crate) struct Admission {
    state: Mutex<State>,
    /// The bits of the debt as last measured, so that writers need not measure it.
    debt: AtomicU64,
    /// The parts of it, likewise: of memtables that wait to be flushed, and of what compaction is behind.
    sealed_debt: AtomicU64,
    run_debt: AtomicU64,
    /// Bytes of batches that are admitted and not in the memtables yet.
    reserved: AtomicUsize,
    /// What `reserved` may come to, unless a batch is alone and nothing is sealed.
    room: AtomicUsize,
    /// No memtable waits to be flushed.
    nothing_sealed: AtomicBool,
    /// The length of the queue: nobody overtakes those who wait, or a large batch would starve.
    queued: AtomicUsize,
}

struct State {
    /// First come, first served. Each waits on its own condition variable; only the front does
    /// for anything but its turn.
    queue: VecDeque<Arc<Condvar>>,
    /// Bytes that were admitted at a debt and are not paid for by time yet.
    owed: f64,
    /// When `owed` was last brought up to date.
    paid_at: Duration,
    /// Bytes per second that flushes drain: an average that forgets.
    drain_rate: f64,
    waits: u64,
    waited: Duration,
    /// Why the last flush failed.
    flush_failed: Option<Error>,
    /// Why the last compaction failed.
    compaction_failed: Option<Error>,
}

/// A batch's place in memory, from its admission until it is written or given up. Dropped, it is
/// free for others.
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
    /// Lets time pay at `rate`, or forgives everything where writers run free.
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
    pub fn new(room: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            owed: 0.0,
            paid_at: Duration::ZERO,
            drain_rate: FIRST_RATE,
            waits: 0,
            waited: Duration::ZERO,
            flush_failed: None,
            compaction_failed: None,
        };
        Self {
            state: Mutex::new(state),
            debt: AtomicU64::new(0),
            sealed_debt: AtomicU64::new(0),
            run_debt: AtomicU64::new(0),
            reserved: AtomicUsize::new(0),
            room: AtomicUsize::new(room),
            nothing_sealed: AtomicBool::new(true),
            queued: AtomicUsize::new(0),
        }
    }

    /// Notes that `bytes` of memtable went to disk in `took`, and wakes writers.
    pub fn flushed(&self, bytes: u64, took: Duration) {
        let mut state = self.state.lock();
        let rate = bytes as f64 / took.as_secs_f64().max(1e-3);
        state.drain_rate = 0.7 * state.drain_rate + 0.3 * rate.clamp(1e6, 1e10);
        state.flush_failed = None;
        state.wake_front();
    }

    /// Notes that a compaction came to its end, and wakes writers.
    pub fn compacted(&self) {
        let mut state = self.state.lock();
        state.compaction_failed = None;
        state.wake_front();
    }

    /// Notes why flushes or compactions make no progress, so that writers are told that wait for them.
    pub fn blocked(&self, work: Upkeep, cause: Error) {
        let mut state = self.state.lock();
        match work {
            Upkeep::Flush => state.flush_failed = Some(cause),
            Upkeep::Compaction => state.compaction_failed = Some(cause),
        }
        state.wake_front();
    }

    /// Why a batch of `bytes` waits in vain, if it does: what it waits for has failed.
    fn in_vain(&self, state: &State, bytes: usize) -> Option<Error> {
        let full = |debt: &AtomicU64| f64::from_bits(debt.load(Ordering::Relaxed)) >= 1.0;
        let of_flushes = state.flush_failed.as_ref().filter(|_| full(&self.sealed_debt) || self.needs_a_flush(bytes));
        let of_runs = || state.compaction_failed.as_ref().filter(|_| full(&self.run_debt));
        of_flushes.or_else(of_runs).cloned()
    }

    /// Wakes the writer at the front, to look at the state of the store.
    pub fn wake(&self) {
        self.state.lock().wake_front();
    }

    /// Waits so far: their number and their sum.
    pub fn waits(&self) -> (u64, Duration) {
        let state = self.state.lock();
        (state.waits, state.waited)
    }

    /// True for a batch of `bytes` that does not fit beside what is sealed.
    fn needs_a_flush(&self, bytes: usize) -> bool {
        !self.nothing_sealed.load(Ordering::Relaxed) && memory_of(bytes) > self.room.load(Ordering::Relaxed)
    }

    /// Reserves memory for a batch of `bytes`, if there is room. Where nothing is sealed, a batch
    /// alone may have more; else the next flush makes room.
    fn try_reserve(&self, bytes: usize) -> Option<Admitted<'_>> {
        let bytes = memory_of(bytes);
        let (room, alone) = (self.room.load(Ordering::Relaxed), self.nothing_sealed.load(Ordering::Relaxed));
        let more = |reserved: usize| (alone && reserved == 0 || reserved + bytes <= room).then_some(reserved + bytes);
        self.reserved.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok()?;
        Some(Admitted { admission: self, bytes })
    }

    /// Reserves memory whether there is room or not.
    fn reserve(&self, bytes: usize) -> Admitted<'_> {
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
        self.shared.budget.set_memtables(active, immutable as usize);
        let half = self.options.memtable_bytes() / 2;
        // The other half is for active memtables. A little is always left to pass, slowly.
        let room = half.saturating_sub(immutable as usize).max(half / 8);
        self.admission.room.store(room, Ordering::Relaxed);
        self.admission.nothing_sealed.store(immutable == 0, Ordering::Relaxed);
        let sealed = immutable as f64 / half as f64;
        self.admission.sealed_debt.store(sealed.to_bits(), Ordering::Relaxed);
        self.admission.run_debt.store(worst.to_bits(), Ordering::Relaxed);
        let debt = worst.max(sealed);
        self.admission.debt.store(debt.to_bits(), Ordering::Relaxed);
        debt
    }

    /// The debt as last measured.
    pub(crate) fn debt(&self) -> f64 {
        f64::from_bits(self.admission.debt.load(Ordering::Relaxed))
    }

    /// Admits a batch of `bytes`: waits as long as the debt asks for, and reserves its memory.
    pub(crate) fn admit(&self, bytes: usize) -> Result<Admitted<'_>> {
        let limit = self.options.max_batch_bytes();
        if bytes > limit {
            return Err(Error::BatchTooLarge { bytes: bytes as u64, limit: limit as u64 });
        }
        let admission = &self.admission;
        let short = !self.options.background && self.wal.is_short();
        if self.debt() <= FREE
            && !short
            && admission.queued.load(Ordering::SeqCst) == 0
            && let Some(admitted) = admission.try_reserve(bytes)
        {
            return Ok(admitted);
        }
        if !self.options.background {
            self.work_off()?;
            return Ok(admission.reserve(bytes));
        }
        let turn = Arc::new(Condvar::new());
        let mut state = admission.state.lock();
        admission.queued.fetch_add(1, Ordering::SeqCst);
        state.queue.push_back(turn.clone());
        let started = self.env.clock.now();
        while state.queue.front().is_some_and(|front| !Arc::ptr_eq(front, &turn)) {
            turn.wait_for(&mut state, LOOK_AGAIN);
        }
        let outcome = self.pass(&mut state, &turn, bytes);
        state.queue.pop_front();
        admission.queued.fetch_sub(1, Ordering::SeqCst);
        state.wake_front();
        let waited = self.env.clock.now().saturating_sub(started);
        state.waits += u64::from(waited > Duration::ZERO);
        state.waited += waited;
        drop(state);
        crate::events::took("waiting for flushes and compactions, before a write,", waited);
        outcome
    }

    /// Waits at the front of the queue until the batch may go on.
    fn pass(&self, state: &mut MutexGuard<'_, State>, turn: &Condvar, bytes: usize) -> Result<Admitted<'_>> {
        let mut debt = self.debt();
        let mut looked = None;
        let mut waited = false;
        loop {
            self.writable()?;
            let now = self.env.clock.now();
            let rate = allowed_rate(debt, state.drain_rate);
            state.pay(now, debt, rate);
            // A clock that stands still (tests) must not hold writers for ever.
            let late = if looked == Some(now) { Duration::ZERO } else { late(state.owed, rate) };
            looked = Some(now);
            // Memory is a bound, not a pace: at debt 1 nothing more fits.
            if debt < 1.0
                && late <= SHORT
                && let Some(admitted) = self.admission.try_reserve(bytes)
            {
                if debt > FREE {
                    state.owed += bytes as f64;
                }
                return Ok(admitted);
            }
            if let Some(cause) = self.admission.in_vain(state, bytes) {
                return Err(cause);
            }
            if !waited {
                marks::WRITER_WAITED.hit();
                waited = true;
            }
            // Flushes and those who give memory back wake the front.
            turn.wait_for(state, if late > SHORT { late } else { LOOK_AGAIN });
            debt = self.measure_debt();
        }
    }

    fn relieve_now(&self) -> Result<()> {
        while self.wal.is_short() && (self.flush_one()? || self.relieve_log()?) {}
        Ok(())
    }

    /// Without background threads, writers do what is due when nothing more fits, in memory or on
    /// the disk.
    fn work_off(&self) -> Result<()> {
        if let Err(error) = self.relieve_now() {
            // The batch may fit into the segment at hand.
            self.worker_failed(Upkeep::Flush, error);
        }
        while self.measure_debt() >= 1.0 {
            self.writable()?;
            match self.ended(self.run_one(2)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Error::Storage(cause)) if cause.is_no_space() => {
                    return Err(Error::NoSpace(Box::new(Error::Storage(cause))));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a batch of `bytes` takes in memtables: their index, and the rest of a chunk that a large entry
/// does not fit, come to less than an eighth.
fn memory_of(bytes: usize) -> usize {
    bytes + bytes / 8
}

/// How long it takes until `owed` bytes are paid for; at most [`LOOK_AGAIN`].
fn late(owed: f64, rate: f64) -> Duration {
    Duration::from_secs_f64((owed / rate).clamp(0.0, LOOK_AGAIN.as_secs_f64()))
}

#[cfg(test)]
mod tests;

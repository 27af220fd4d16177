//! The worker pool: flushes before compactions, on one pool sized to the cores.
//!
//! All but one thread may compact; one is always free to flush. A long compaction asks
//! [`Inner::should_yield`] whether the store is being closed.

use crate::admission::Upkeep;
use crate::marks;
use crate::store::Inner;
use crate::{Error, Result};
use alluvium_env::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Workers look around at least this often (for snapshots that grow old, freed space).
const TICK: Duration = Duration::from_millis(500);

/// The pool's shared state.
pub(crate) struct Workers {
    state: Mutex<State>,
    work: Condvar,
    idle: Condvar,
    compacting: AtomicUsize,
    flushing: Vec<AtomicBool>,
}

#[derive(Default)]
struct State {
    /// Rises with every signal, so that a worker that looked in vain does not miss one.
    signals: u64,
    busy: usize,
    stop: bool,
}

impl Workers {
    pub fn new(partitions: usize) -> Self {
        Self {
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            idle: Condvar::new(),
            compacting: AtomicUsize::new(0),
            flushing: (0..partitions).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Says that there may be work.
    pub fn signal(&self) {
        self.state.lock().signals += 1;
        self.work.notify_all();
    }

    /// Ends the threads after what they are doing.
    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.work.notify_all();
        self.idle.notify_all();
    }

    pub fn stopping(&self) -> bool {
        self.state.lock().stop
    }

    /// Waits until something changed since `seen` or a tick passed.
    pub fn wait_change(&self) {
        let mut state = self.state.lock();
        self.idle.wait_for(&mut state, Duration::from_millis(20));
    }

    pub fn busy(&self) -> usize {
        self.state.lock().busy
    }
}

/// One worker thread.
pub(crate) fn run(store: &Arc<Inner>, threads: usize) {
    let workers = &store.workers;
    loop {
        let seen = {
            let mut state = workers.state.lock();
            if state.stop {
                return;
            }
            state.busy += 1;
            state.signals
        };
        let outcome = store.run_one(threads);
        let mut state = workers.state.lock();
        state.busy -= 1;
        workers.idle.notify_all();
        if state.stop {
            return;
        }
        let pause = match outcome {
            Ok(true) => continue,
            Ok(false) => state.signals == seen,
            // It was told where it failed.
            Err(_) => true,
        };
        if pause && !state.stop {
            workers.work.wait_for(&mut state, TICK);
        }
    }
}

impl Inner {
    /// Does one piece of background work; false if there was none.
    pub(crate) fn run_one(&self, threads: usize) -> Result<bool> {
        if self.writable().is_err() {
            return Ok(false);
        }
        self.end_snapshots();
        let blocked = match self.flush_one().and_then(|flushed| Ok(flushed || self.relieve_log()?)) {
            Ok(true) => return Ok(true),
            Ok(false) => None,
            Err(error) if self.writable().is_err() => return Err(error),
            // What is removed below may make room, on the disk or among range tombstones.
            Err(error) => Some(error),
        };
        if let Some(error) = &blocked {
            self.worker_failed(Upkeep::Flush, error.clone());
        }
        let done = self.reduce(threads).inspect_err(|error| self.worker_failed(Upkeep::Compaction, error.clone()))?;
        if blocked.is_none() && !done {
            self.discard_later();
        }
        blocked.filter(|_| !done).map_or(Ok(done), Err)
    }

    /// Removes what dropped trees have left, and compacts; false if there was nothing to do.
    pub(crate) fn reduce(&self, threads: usize) -> Result<bool> {
        // Of those that readers held when they were dropped.
        self.partitions.iter().for_each(|partition| partition.remove_released_files());
        self.purge_dropped()?;
        let most = threads.saturating_sub(1).max(1);
        if self.workers.compacting.fetch_add(1, Ordering::AcqRel) >= most {
            self.workers.compacting.fetch_sub(1, Ordering::AcqRel);
            return Ok(false);
        }
        let outcome = self.compact_one();
        self.workers.compacting.fetch_sub(1, Ordering::AcqRel);
        outcome
    }

    /// Flushes the sealed memtable that pins the oldest part of the log, if there is one that
    /// nobody is flushing.
    pub(crate) fn flush_one(&self) -> Result<bool> {
        let mut candidates: Vec<(u64, usize)> = Vec::new();
        for (at, partition) in self.partitions.iter().enumerate() {
            if partition.view().immutable_count() > 0 {
                candidates.push((partition.view().oldest_unflushed().unwrap_or(0), at));
            }
        }
        candidates.sort_unstable();
        for (_, at) in candidates {
            if self.workers.flushing[at].swap(true, Ordering::AcqRel) {
                continue;
            }
            let outcome = self.flush_partition(at);
            self.workers.flushing[at].store(false, Ordering::Release);
            if outcome? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn flush_partition(&self, at: usize) -> Result<bool> {
        let partition = &self.partitions[at];
        let started = self.env.clock.now();
        let before = partition.debt().immutable_bytes;
        if !partition.flush_oldest()? {
            return Ok(false);
        }
        let bytes = before.saturating_sub(partition.debt().immutable_bytes);
        self.admission.flushed(bytes, self.env.clock.now().saturating_sub(started));
        self.measure_debt();
        self.note_background(None);
        self.poison_if_broken();
        self.note_flushes()?;
        self.workers.signal();
        Ok(true)
    }

    /// Lets go of what no partition needs of the log, after writing down in what remains how far
    /// *every* partition is flushed, and what goes: a manifest that later lost such a flush, whose
    /// data may have been in a segment that is removed now, is found by the note, and so is a
    /// segment that is missing without having been let go.
    pub(crate) fn note_flushes(&self) -> Result<()> {
        // Whoever holds the log needs it as it is now.
        let Some(_removing) = self.holds.removing() else {
            marks::LOG_HELD.hit();
            return Ok(());
        };
        let oldest_needed = self.oldest_needed();
        if self.wal.can_release_below(oldest_needed) && !self.damaged.load(Ordering::SeqCst) {
            self.note_flushed(oldest_needed)?;
            self.wal.release_below(oldest_needed)?;
        }
        Ok(())
    }

    /// Writes such a note.
    pub(crate) fn note_flushed(&self, needed: u64) -> Result<()> {
        let flushed = self.partitions.iter().enumerate().map(|(at, p)| (at as u32, p.flushed_seq()));
        let note = crate::batch::encode_flushed(needed, flushed);
        self.commit(crate::commit::Work::Note(note), crate::Durability::Sync)?;
        Ok(())
    }

    /// The lowest number that may not be in sorted files yet.
    pub(crate) fn oldest_needed(&self) -> u64 {
        // First the visible number: what is above it may be on its way into a memtable that
        // still looks empty. What is at or below it is in a memtable or flushed.
        let visible = self.visibility.visible();
        let pins = self.partitions.iter().filter_map(|p| p.view().oldest_unflushed());
        pins.min().unwrap_or(u64::MAX).min(visible + 1)
    }

    /// Runs the most urgent compaction, if any is due. One that fails keeps those of other partitions from nothing.
    pub(crate) fn compact_one(&self) -> Result<bool> {
        let mut order: Vec<(u64, usize)> = Vec::new();
        for (at, partition) in self.partitions.iter().enumerate() {
            let debt = partition.debt();
            order.push((debt.compaction_bytes + ((debt.runs as u64) << 20), at));
        }
        order.sort_unstable_by(|a, b| b.cmp(a));
        let mut failed = None;
        for (_, at) in order {
            if let Some(job) = self.partitions[at].pick_compaction() {
                if let Err(error) = self.partitions[at].run_compaction(job, &|| self.should_yield()) {
                    self.poison_if_broken();
                    failed = failed.or(Some(Error::from(error)));
                    continue;
                }
                if failed.is_none() {
                    self.admission.compacted();
                }
                self.note_background(failed);
                self.poison_if_broken();
                self.measure_debt();
                self.admission.wake();
                self.workers.signal();
                return Ok(true);
            }
        }
        failed.map_or(Ok(false), Err)
    }

    /// Asked by a long compaction between blocks. It never waits for a flush: one thread is kept
    /// free of compactions.
    pub(crate) fn should_yield(&self) -> bool {
        self.workers.stopping() || self.writable().is_err()
    }

    /// Takes no more writes if the log or a manifest takes none. Asked after each piece of work, also after one that was done:
    /// a new manifest is begun behind it.
    pub(crate) fn poison_if_broken(&self) {
        let manifest = || self.partitions.iter().find_map(|p| p.poisoned());
        if let Some(cause) = self.wal.poisoned().or_else(manifest) {
            self.poison(Error::Storage(cause));
        }
    }

    /// A flush or compaction failed. If it was on the log or a manifest, nothing is written any
    /// more. Anything else (a full disk, a damaged input) is tried again at the next tick;
    /// `stats` shows it, and writers that wait for memory are told.
    pub(crate) fn worker_failed(&self, work: Upkeep, error: Error) {
        self.poison_if_broken();
        if self.writable().is_err() {
            return;
        }
        match &error {
            Error::Closed | Error::Poisoned(_) | Error::OutcomeUnknown(_) => return,
            Error::NoSpace(_) => self.admission.blocked(work, error.clone()),
            Error::Storage(cause) if cause.is_no_space() => {
                self.admission.blocked(work, Error::NoSpace(Box::new(error.clone())));
            }
            _ => self.admission.blocked(work, error.clone()),
        }
        self.note_background(Some(error));
    }
}

//! Background work: flushes before compactions. It runs on one pool of threads sized to the cores, or, in a store
//! without background threads, on the threads of writers.
//!
//! All threads except one may compact, so that one is always free to flush.

mod compactions;
mod failures;
mod flushes;
mod log_release;
mod snapshot_limits;

use crate::admission::BackgroundWork;
use crate::commit::Commit;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::options::Options;
use crate::partitions::Partitions;
use crate::poison::Poison;
use crate::work::{Moment, WorkOutcome, WorkSignal};
use alluvium_env::Clock;
use alluvium_wal::Wal;
use compactions::Compactions;
use failures::Failures;
use flushes::Flushes;
use log_release::LogRelease;
use snapshot_limits::SnapshotLimits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An open flushes to remove segments if their number exceeds twice the number for the log's limit by more than this.
const MANY_SEGMENTS: u64 = 32;
/// The number of threads that a caller that is not a worker passes, so that it may compact.
const ALONE: usize = 2;

/// The background work of a store.
pub(crate) struct Upkeep {
    options: Arc<Options>,
    wal: Arc<Wal>,
    partitions: Partitions,
    health: Arc<Health>,
    poison: Arc<Poison>,
    work: Arc<WorkSignal>,
    commit: Arc<Commit>,
    failures: Arc<Failures>,
    log: Arc<LogRelease>,
    flushes: Flushes,
    compactions: Compactions,
    snapshots: SnapshotLimits,
    /// True if discarding the damaged log has failed and is to be tried again.
    discard_wanted: AtomicBool,
}

impl Upkeep {
    pub fn new(clock: Arc<dyn Clock>, commit: &Arc<Commit>) -> Self {
        let failures = Arc::new(Failures::new(commit.poison.clone()));
        let log = Arc::new(LogRelease::new(commit.clone()));
        Self {
            options: commit.options.clone(),
            wal: commit.wal.clone(),
            partitions: commit.partitions.clone(),
            health: commit.poison.health.clone(),
            poison: commit.poison.clone(),
            work: commit.work.clone(),
            commit: commit.clone(),
            flushes: Flushes::new(clock, commit.clone(), log.clone(), failures.clone()),
            compactions: Compactions::new(commit, failures.clone()),
            snapshots: SnapshotLimits {
                visibility: commit.visibility.clone(),
                trees: commit.trees.clone(),
                partitions: commit.partitions.clone(),
                max_debt_bytes: commit.options.snapshot_max_debt_bytes,
            },
            failures,
            log,
            discard_wanted: AtomicBool::new(false),
        }
    }

    /// The last failure of background work, until the work succeeds again.
    pub fn last_failure(&self) -> Option<Error> {
        self.failures.last()
    }

    /// The approximate number of bytes that files keep only because a snapshot may need them.
    pub fn snapshot_debt(&self) -> u64 {
        self.snapshots.debt()
    }

    /// The loop of a worker thread, one of `threads`.
    pub fn run_worker(&self, threads: usize) {
        self.work.run(|| match self.run_one(threads) {
            Ok(true) => WorkOutcome::Done,
            Ok(false) => WorkOutcome::Nothing,
            // The error was recorded where the work failed.
            Err(_) => WorkOutcome::Failed,
        });
    }

    /// Does one piece of background work on the caller's thread. Returns false if there was none.
    pub fn run_one_here(&self) -> Result<bool> {
        self.poison.after_work(self.run_one(ALONE))
    }

    /// Does one piece of background work. Returns false if there was none.
    fn run_one(&self, threads: usize) -> Result<bool> {
        if self.health.check_writable().is_err() {
            return Ok(false);
        }
        self.snapshots.enforce();
        let blocked = match self.flushes.make_room() {
            Ok(true) => return Ok(true),
            Ok(false) => None,
            Err(error) if self.health.check_writable().is_err() => return Err(error),
            // The compaction below may free disk space, or reduce the range tombstones.
            Err(error) => Some(error),
        };
        if let Some(error) = &blocked {
            self.failures.failed(BackgroundWork::Flush, error.clone());
        }
        let reduced = self.compactions.reduce(threads);
        let done = reduced.inspect_err(|error| self.failures.failed(BackgroundWork::Compaction, error.clone()))?;
        if blocked.is_none() && !done {
            self.retry_discard();
        }
        blocked.filter(|_| !done).map_or(Ok(done), Err)
    }

    /// In a store without background threads, does the pending work on the thread of a writer, when memory or the disk
    /// has no more room.
    pub fn work_off(&self) -> Result<()> {
        if let Err(error) = self.relieve_now() {
            // The batch may still fit into the current segment.
            self.failures.failed(BackgroundWork::Flush, error);
        }
        while self.commit.admission.measure_debt() >= 1.0 {
            self.health.check_writable()?;
            if !self.run_one_here().map_err(Error::named_if_full)? {
                break;
            }
        }
        Ok(())
    }

    fn relieve_now(&self) -> Result<()> {
        while self.wal.is_short() && self.flushes.make_room()? {}
        Ok(())
    }

    /// Removes unnecessary segments of a log that had `segments` segments when it was opened, because every open adds
    /// one. Must be called before the threads are started.
    pub fn trim_log(&self, segments: usize) -> Result<()> {
        let usual = self.options.log_limit_bytes() / self.options.log_segment_bytes();
        if segments as u64 > 2 * usual + MANY_SEGMENTS {
            self.commit.seal_all()?;
            while self.flushes.flush_one()? {}
        }
        self.log.release()
    }

    /// Flushes all operations that have a number now. Also discards the damaged log if an earlier attempt failed.
    pub fn flush(&self) -> Result<()> {
        self.health.check_writable()?;
        let flushed = self.flush_all().inspect(|()| {
            if self.discard_wanted.load(Ordering::SeqCst) {
                // The flush itself has succeeded. If discarding fails, `discard_wanted` stays set.
                let _later = self.discard(|| self.flush_all());
            }
        });
        self.poison.after_work(flushed)
    }

    /// Flushes all operations that have a number now. Does not wait for later writes.
    fn flush_all(&self) -> Result<()> {
        // Work that failed earlier is tried again.
        self.failures.note(None);
        let next = self.commit.seal_all()?;
        self.work.signal();
        loop {
            if !self.options.background {
                while self.flushes.flush_one()? {}
            }
            if !self.flushes.are_due_below(next) {
                return self.log.release_all();
            }
            self.check_flushes()?;
            self.work.wait_for_worker();
        }
    }

    /// Discards the damaged log, so that the next open is not refused.
    pub fn discard_damage(&self) -> Result<()> {
        self.discard(|| {
            self.health.check_writable()?;
            self.poison.after_work(self.flush_all())
        })
    }

    /// Discards the damaged log, and calls `flush` at the end.
    fn discard(&self, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        self.discard_wanted.store(false, Ordering::SeqCst);
        let holds = &self.commit.holds;
        if !holds.set_damaged(false) {
            return Ok(());
        }
        // The segment that was begun when the store was opened lists the skipped numbers. Once this segment contains a
        // note, another segment replaces it.
        self.log.note_flushed(0).and_then(|()| flush()).inspect_err(|_| {
            // No segment is removed then. A later flush tries again, and so do the threads.
            holds.set_damaged(true);
            self.discard_wanted.store(true, Ordering::SeqCst);
        })
    }

    /// Discards the damaged log if an earlier attempt failed: seals the memtables, whose flush completes the work.
    fn retry_discard(&self) {
        if self.discard_wanted.load(Ordering::SeqCst) {
            // If this fails, `discard_wanted` stays set.
            let _later = self.discard(|| self.commit.seal_all().map(drop));
        }
    }

    /// Returns an error if waiting for a flush is in vain; [`Upkeep::check_progress`] does the same for all work. A
    /// failing compaction does not prevent a flush, unless it would have made room for the flush.
    fn check_flushes(&self) -> Result<()> {
        self.health.check_writable()?;
        if self.failures.last().is_none() {
            return Ok(());
        }
        match self.flushes.make_room() {
            Ok(_) => Ok(()),
            Err(error) if self.health.check_writable().is_err() => Err(error),
            Err(error) => match self.compactions.reduce(ALONE) {
                Ok(true) => Ok(()),
                Ok(false) | Err(_) => Err(error),
            },
        }
    }

    /// Returns an error if background work cannot finish. The recorded failure of a worker may be out of date because
    /// there is space again, so this thread tries the work itself.
    fn check_progress(&self) -> Result<()> {
        self.health.check_writable()?;
        let failed = self.failures.last().is_some();
        if failed { self.run_one(ALONE).map(drop) } else { Ok(()) }
    }

    /// Flushes, and waits until no compaction is due. Returns false if `stop` was set earlier.
    pub fn settle(&self, stop: &AtomicBool) -> Result<bool> {
        if let Err(error) = self.flush() {
            self.health.check_writable()?;
            // The flush may fail because of data that a compaction can remove.
            let reduce = || self.poison.after_work(self.compactions.reduce(ALONE)).map_err(|_| error.clone());
            while !stop.load(Ordering::Relaxed) && reduce()? {}
            self.flush()?;
        }
        // A moment after which nothing was due.
        let mut idle: Option<Moment> = None;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if !self.options.background {
                self.health.check_open()?;
                if self.run_one_here()? {
                    continue;
                }
                return Ok(true);
            }
            let was_idle = idle.is_some_and(|moment| self.work.is_quiet_since(moment));
            let before = self.work.moment();
            let due = self.compactions.are_due();
            if !due && (was_idle || self.work.is_idle()) {
                return Ok(true);
            }
            idle = match idle {
                Some(moment) if !due && moment.done == before.done => idle,
                // Work that has done something may have made other work due. What was begun before the look may have
                // taken what was due, so it has to end.
                _ => (!due).then(|| Moment { done: before.done, ..self.work.moment() }),
            };
            self.poison.after_work(self.check_progress())?;
            // Workers without work would wake at each signal, and never be idle.
            if due {
                self.work.signal();
            }
            self.work.wait_for_worker();
        }
    }

    /// Settles, then merges every partition into one sorted run. Returns false if `stop` was set earlier.
    pub fn compact(&self, stop: &AtomicBool) -> Result<bool> {
        if !self.settle(stop)? {
            return Ok(false);
        }
        // Also frees the space of trees that were dropped just before.
        self.poison.after_work(self.compactions.purge_dropped())?;
        for partition in &*self.partitions {
            let compacted = partition.compact_all_unless(&|| stop.load(Ordering::Relaxed));
            if !self.poison.after_work(compacted.map_err(Error::from))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;

//! Flushing sealed memtables.

use super::failures::Failures;
use super::log_release::LogRelease;
use crate::admission::Admission;
use crate::commit::{Commit, Work};
use crate::error::Result;
use crate::options::Durability;
use crate::partitions::Partitions;
use crate::work::WorkSignal;
use alluvium_codec::entry::Seq;
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_wal::Wal;
use std::sync::Arc;

/// If disk space is short, a log of a single segment with at most this many bytes is too small to be worth a flush.
const SMALL_LOG: u64 = 128 << 10;

/// Writes sealed memtables to sorted files.
pub(crate) struct Flushes {
    clock: Arc<dyn Clock>,
    wal: Arc<Wal>,
    partitions: Partitions,
    admission: Arc<Admission>,
    work: Arc<WorkSignal>,
    commit: Arc<Commit>,
    log: Arc<LogRelease>,
    failures: Arc<Failures>,
    /// For each partition: true while a thread flushes it.
    flushing: Vec<AtomicBool>,
}

impl Flushes {
    pub fn new(clock: Arc<dyn Clock>, commit: Arc<Commit>, log: Arc<LogRelease>, failures: Arc<Failures>) -> Self {
        Self {
            clock,
            wal: commit.wal.clone(),
            flushing: commit.partitions.iter().map(|_| AtomicBool::new(false)).collect(),
            partitions: commit.partitions.clone(),
            admission: commit.admission.clone(),
            work: commit.work.clone(),
            commit,
            log,
            failures,
        }
    }

    /// Among the sealed memtables that no other thread is flushing, flushes the one that pins the oldest part of the
    /// log. Returns false without such a memtable.
    pub fn flush_one(&self) -> Result<bool> {
        let mut candidates: Vec<(u64, usize)> = Vec::new();
        for (at, partition) in self.partitions.iter().enumerate() {
            if partition.view().immutable_count() > 0 {
                candidates.push((partition.view().oldest_unflushed().unwrap_or(0), at));
            }
        }
        candidates.sort_unstable();
        for (_, at) in candidates {
            if self.flushing[at].swap(true, Ordering::AcqRel) {
                continue;
            }
            let outcome = self.flush_partition(at);
            self.flushing[at].store(false, Ordering::Release);
            if outcome? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn flush_partition(&self, at: usize) -> Result<bool> {
        let partition = &self.partitions[at];
        let started = self.clock.now();
        let before = partition.debt().immutable_bytes;
        if !partition.flush_oldest()? {
            return Ok(false);
        }
        let bytes = before.saturating_sub(partition.debt().immutable_bytes);
        self.admission.flushed(bytes, self.clock.now().saturating_sub(started));
        self.admission.measure_debt();
        self.failures.note(None);
        self.failures.poison_if_broken();
        self.log.release()?;
        self.work.signal();
        Ok(true)
    }

    /// True if a memtable with numbers below `next` is sealed and not flushed yet.
    pub fn are_due_below(&self, next: Seq) -> bool {
        let sealed_before = |view: &alluvium_lsm::View| {
            view.immutable_count() > 0 && view.oldest_unflushed().is_some_and(|first| first < next)
        };
        self.partitions.iter().any(|partition| sealed_before(&partition.view()))
    }

    /// Called after a segment was refused because the disk is full. Flushes all operations for which the log is still
    /// needed, and then removes the segments of the log, so that writes continue if this frees enough. Returns false if
    /// there was nothing to do, or if other threads are doing it.
    pub fn relieve_log(&self) -> Result<bool> {
        let worth = |log: &Wal| log.can_release_below(u64::MAX) || log.bytes_on_disk() > SMALL_LOG;
        if !self.wal.is_short() || !worth(&self.wal) {
            return Ok(false);
        }
        let full = self.partitions.iter().enumerate().filter(|(_, p)| !p.active().is_empty());
        let full: Vec<u32> = full.map(|(at, _)| at as u32).collect();
        if !full.is_empty() {
            self.commit.commit(Work::Rotate(full), Durability::Bulk)?;
            return Ok(true);
        }
        if self.log.is_all_flushed() {
            self.log.release_all()?;
            return Ok(!worth(&self.wal));
        }
        Ok(false)
    }

    /// Does one piece of work that makes room in memory or in the log. Returns false if there was none.
    pub fn make_room(&self) -> Result<bool> {
        Ok(self.flush_one()? || self.relieve_log()?)
    }
}

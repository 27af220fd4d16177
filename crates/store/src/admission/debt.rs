//! The backlog of flushes and compactions.

use crate::partitions::Partitions;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use alluvium_lsm::Budget;
use std::sync::Arc;

/// Up to this number of runs, a partition has no debt.
const RUNS_FREE: f64 = 4.0;
/// At this number of runs, a partition has a debt of 1.
const RUNS_FULL: f64 = 24.0;

/// The debt of background work, from 0 (none) to 1 and above, as of the last measurement. Writers do not measure the
/// debt themselves.
pub(crate) struct Debt {
    partitions: Partitions,
    budget: Arc<Budget>,
    memory_bytes: usize,
    /// The share of sealed memtables in the budget.
    sealed_bytes: usize,
    /// The bits of the debt, an `f64`.
    total: AtomicU64,
    /// The bits of the part that is caused by memtables that wait to be flushed.
    sealed: AtomicU64,
    /// The bits of the part that is caused by runs that wait to be compacted.
    runs: AtomicU64,
    /// Bytes that admitted batches may reserve. A batch without other reservations may exceed this if nothing is
    /// sealed.
    room: AtomicUsize,
    nothing_sealed: AtomicBool,
}

impl Debt {
    /// `memtable_bytes` is the part of the budget of `memory_bytes` that active and sealed memtables may take together.
    pub fn new(partitions: Partitions, budget: Arc<Budget>, memory_bytes: usize, memtable_bytes: usize) -> Self {
        let sealed_bytes = memtable_bytes / 2;
        Self {
            partitions,
            budget,
            memory_bytes,
            sealed_bytes,
            total: AtomicU64::new(0),
            sealed: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            room: AtomicUsize::new(sealed_bytes),
            nothing_sealed: AtomicBool::new(true),
        }
    }

    /// Measures the debt. The leader calls this after a seal, and workers after a flush or compaction, because these
    /// change the debt.
    pub fn measure(&self) -> f64 {
        let mut immutable = 0;
        let mut runs = 0.0f64;
        for partition in &*self.partitions {
            let debt = partition.debt();
            immutable += debt.immutable_bytes;
            runs = runs.max((debt.runs as f64 - RUNS_FREE) / (RUNS_FULL - RUNS_FREE));
            runs = runs.max(debt.compaction_bytes as f64 / (self.memory_bytes as f64 * 2.0));
        }
        let active: usize = self.partitions.iter().map(|p| p.active().charged_bytes()).sum();
        self.budget.set_memtables(active, immutable as usize);
        // The other half of the memtables' share is for active memtables. At least an eighth of the sealed half is
        // always left, so that writers proceed slowly.
        let room = self.sealed_bytes.saturating_sub(immutable as usize).max(self.sealed_bytes / 8);
        self.room.store(room, Ordering::Relaxed);
        self.nothing_sealed.store(immutable == 0, Ordering::Relaxed);
        self.set(immutable as f64 / self.sealed_bytes as f64, runs)
    }

    pub(super) fn set(&self, sealed: f64, runs: f64) -> f64 {
        let total = runs.max(sealed);
        self.sealed.store(sealed.to_bits(), Ordering::Relaxed);
        self.runs.store(runs.to_bits(), Ordering::Relaxed);
        self.total.store(total.to_bits(), Ordering::Relaxed);
        total
    }

    pub fn total(&self) -> f64 {
        f64::from_bits(self.total.load(Ordering::Relaxed))
    }

    /// True if sealed memtables alone are enough to stop writers.
    pub fn is_full_of_memtables(&self) -> bool {
        f64::from_bits(self.sealed.load(Ordering::Relaxed)) >= 1.0
    }

    /// True if runs alone are enough to stop writers.
    pub fn is_full_of_runs(&self) -> bool {
        f64::from_bits(self.runs.load(Ordering::Relaxed)) >= 1.0
    }

    pub fn room(&self) -> usize {
        self.room.load(Ordering::Relaxed)
    }

    pub fn nothing_sealed(&self) -> bool {
        self.nothing_sealed.load(Ordering::Relaxed)
    }
}

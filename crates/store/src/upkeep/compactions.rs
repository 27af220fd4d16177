//! Merges runs, and removes the data of dropped trees.

use super::failures::Failures;
use crate::admission::Admission;
use crate::commit::Commit;
use crate::durability::Syncer;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::marks;
use crate::partitions::Partitions;
use crate::trees::Trees;
use crate::visibility::Visibility;
use crate::work::WorkSignal;
use alluvium_env::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Merges runs, and removes the data of dropped trees.
pub(crate) struct Compactions {
    partitions: Partitions,
    trees: Arc<Trees>,
    visibility: Arc<Visibility>,
    syncer: Arc<Syncer>,
    health: Arc<Health>,
    admission: Arc<Admission>,
    work: Arc<WorkSignal>,
    failures: Arc<Failures>,
    /// The number of threads that are compacting.
    running: AtomicUsize,
}

impl Compactions {
    pub fn new(commit: &Commit, failures: Arc<Failures>) -> Self {
        Self {
            partitions: commit.partitions.clone(),
            trees: commit.trees.clone(),
            visibility: commit.visibility.clone(),
            syncer: commit.syncer.clone(),
            health: commit.poison.health.clone(),
            admission: commit.admission.clone(),
            work: commit.work.clone(),
            failures,
            running: AtomicUsize::new(0),
        }
    }

    /// Removes the data of dropped trees, and compacts unless all of `threads` except one are compacting already.
    /// Returns false if there was nothing to do.
    pub fn reduce(&self, threads: usize) -> Result<bool> {
        // Removes files that readers still held when the tree was dropped.
        self.partitions.iter().for_each(|partition| partition.remove_released_files());
        self.purge_dropped()?;
        let most = threads.saturating_sub(1).max(1);
        if self.running.fetch_add(1, Ordering::AcqRel) >= most {
            self.running.fetch_sub(1, Ordering::AcqRel);
            return Ok(false);
        }
        let outcome = self.compact_one();
        self.running.fetch_sub(1, Ordering::AcqRel);
        outcome
    }

    /// Removes the keys of dropped trees once the drop is durable and no snapshot is older than the drop. All trees
    /// that were dropped since the last call are removed together, so the time does not grow with the number of drops.
    pub fn purge_dropped(&self) -> Result<()> {
        if !self.trees.are_drops_pending() {
            return Ok(());
        }
        let oldest = self.visibility.live().first().copied().unwrap_or(0);
        let dropped = self.trees.dropped_up_to(oldest);
        if dropped.is_empty() {
            marks::DROP_WAITED.hit();
            return Ok(());
        }
        self.syncer.sync_all()?;
        self.trees.forget(&dropped);
        let dropped: Vec<u32> = dropped.iter().map(|tree| tree.0).collect();
        // All partitions are notified before any step can fail. Later compactions then remove the rest.
        let any_files: Vec<bool> = self.partitions.iter().map(|partition| partition.note_dead(&dropped)).collect();
        for (partition, any_files) in self.partitions.iter().zip(any_files) {
            if any_files {
                partition.remove_dead_files()?;
            }
            partition.forget_dead(&dropped)?;
        }
        self.work.signal();
        Ok(())
    }

    /// Runs the most urgent compaction, if any is due. A failed compaction does not prevent the compactions of other
    /// partitions.
    fn compact_one(&self) -> Result<bool> {
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
                    self.failures.poison_if_broken();
                    failed = failed.or(Some(Error::from(error)));
                    continue;
                }
                if failed.is_none() {
                    self.admission.compacted();
                }
                self.failures.note(failed);
                self.failures.poison_if_broken();
                self.admission.measure_debt();
                self.admission.wake();
                self.work.signal();
                return Ok(true);
            }
        }
        failed.map_or(Ok(false), Err)
    }

    /// True if a compaction is due in any partition.
    pub fn are_due(&self) -> bool {
        self.partitions.iter().any(|partition| partition.compaction_due())
    }

    /// Called by a long compaction between blocks. The compaction need not yield to a flush, because one thread is kept
    /// free of compactions.
    fn should_yield(&self) -> bool {
        self.work.is_stopping() || self.health.check_writable().is_err()
    }
}

//! What operators count, for `explain` and for the plan cache.

use super::run::Run;
use alluvium_store::BlockCounts;
use std::time::Duration;

/// What a step did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub returned: u64,
    pub keys: u64,
    pub documents: u64,
    /// Entries that their number alone did not prove.
    pub validated: u64,
    /// Entries that their documents do not yield.
    pub stale: u64,
    /// Ranges of entries that were begun, each by a seek.
    pub seeks: u64,
    /// That of the steps below it included.
    pub spent: Spent,
}

/// Time and blocks, only of queries that are explained.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub time: Duration,
    pub blocks: BlockCounts,
}

impl Spent {
    pub fn and(self, other: Self) -> Self {
        let mut sum = self;
        sum.time += other.time;
        sum.blocks += other.blocks;
        sum
    }

    /// Adds what `work` takes.
    pub fn measured<T>(&mut self, run: &mut Run, work: impl FnOnce(&mut Run) -> T) -> T {
        if !run.timed {
            return work(run);
        }
        let (started, blocks) = (run.now(), BlockCounts::of_thread());
        let done = work(run);
        self.time += run.now().saturating_sub(started);
        self.blocks += BlockCounts::of_thread() - blocks;
        done
    }
}

/// What a step and those below it did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub counts: Counts,
    pub inputs: Vec<Report>,
}

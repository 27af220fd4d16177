//! The counts of operators, for `explain` and for the plan cache.

use std::time::Duration;

/// The counts of a source for one scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Examined {
    /// Entries read.
    pub keys: u64,
    /// Entries whose number alone did not prove them. For these, the keys of their documents were
    /// computed.
    pub validated: u64,
    /// Entries that their documents do not yield any more.
    pub stale: u64,
    /// Documents read.
    pub documents: u64,
    /// Ranges that were begun; each begins with a seek.
    pub seeks: u64,
}

/// Blocks of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCounts {
    /// Blocks that were looked up.
    pub looked_up: u64,
    /// Blocks that were not in memory and were read.
    pub read: u64,
}

/// The counts of one step of a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Documents that the step returned to the step above it.
    pub returned: u64,
    /// Entries examined.
    pub keys: u64,
    /// Documents examined.
    pub documents: u64,
    /// Entries whose number alone did not prove them.
    pub validated: u64,
    /// Entries that their documents do not yield any more.
    pub stale: u64,
    /// Ranges of entries that were begun; each begins with a seek.
    pub seeks: u64,
    /// Time and blocks, including the time and blocks of the steps below it.
    pub spent: Spent,
}

impl Counts {
    pub(crate) fn of(examined: Examined, spent: Spent) -> Self {
        let Examined { keys, validated, stale, documents, seeks } = examined;
        Self { returned: 0, keys, documents, validated, stale, seeks, spent }
    }
}

/// Time and blocks; both zero unless the query is explained.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// Time on the environment's clock.
    pub time: Duration,
    /// Blocks of the calling thread.
    pub blocks: BlockCounts,
}

impl Spent {
    pub(crate) fn and(self, other: Self) -> Self {
        let blocks = BlockCounts {
            looked_up: self.blocks.looked_up + other.blocks.looked_up,
            read: self.blocks.read + other.blocks.read,
        };
        Self { time: self.time + other.time, blocks }
    }
}

/// The counts of a step and of the steps below it.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The step's own counts.
    pub counts: Counts,
    /// The steps below it, in the order of the plan.
    pub inputs: Vec<Report>,
}

//! Entries above a view that only one reader sees: the writes of a transaction before its commit.

use alluvium_codec::entry::Seq;
use alluvium_memtable::Memtable;
use std::sync::Arc;

/// The lowest number of an uncommitted entry. Numbers of committed entries stay below: a database that wrote a billion
/// operations each second would reach this number after a year.
pub const FIRST_UNCOMMITTED: Seq = 1 << 55;

/// Uncommitted entries of one partition, as one reader sees them.
///
/// They are puts, deletes and deltas, without range tombstones, and have numbers from [`FIRST_UNCOMMITTED`] on, so each is newer than everything that is committed. The reader sees
/// the committed entries up to its own number, and the uncommitted ones up to `last`.
#[derive(Clone)]
pub struct Uncommitted {
    /// The entries.
    pub memtable: Arc<Memtable>,
    /// The number of the last entry that the reader sees.
    pub last: Seq,
}

/// The entries that a reader sees, by their numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible {
    /// The last committed number.
    pub committed: Seq,
    /// The last uncommitted number, or 0.
    pub uncommitted: Seq,
}

impl Visible {
    pub fn new(committed: Seq, uncommitted: Option<&Uncommitted>) -> Self {
        Self { committed, uncommitted: uncommitted.map_or(0, |uncommitted| uncommitted.last) }
    }

    /// True if the reader sees the entry with this number.
    #[inline]
    pub fn includes(self, seq: Seq) -> bool {
        seq <= self.committed || (seq >= FIRST_UNCOMMITTED && seq <= self.uncommitted)
    }

    /// The highest number that the reader may see.
    pub fn highest(self) -> Seq {
        self.committed.max(self.uncommitted)
    }
}

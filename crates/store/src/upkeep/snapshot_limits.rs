//! The limits of snapshots: their age, and the bytes that files keep for them.

use crate::marks;
use crate::partitions::Partitions;
use crate::trees::Trees;
use crate::visibility::Visibility;
use alluvium_codec::entry::Seq;
use std::sync::Arc;

/// The default limit of the bytes that files may keep for snapshots is at least this, even in a small database.
const LEAST_SNAPSHOT_DEBT: u64 = 1 << 30;

/// Ends the snapshots that exceed a limit.
pub(crate) struct SnapshotLimits {
    pub visibility: Arc<Visibility>,
    pub trees: Arc<Trees>,
    pub partitions: Partitions,
    /// [`crate::Options::snapshot_max_debt_bytes`].
    pub max_debt_bytes: Option<u64>,
}

impl SnapshotLimits {
    /// Ends the snapshots that are too old. Also ends the oldest ones while files keep too many bytes for snapshots.
    pub fn enforce(&self) {
        let old = self.visibility.end_old();
        if old > 0 {
            marks::SNAPSHOT_TOO_OLD.hit();
            crate::events::snapshots_ended(old, "they were older than snapshot_max_age");
        }
        while let Some(oldest) = self.visibility.oldest_seq() {
            if self.debt_above(oldest) <= self.max_debt() {
                return;
            }
            let ended = self.visibility.end_up_to(oldest);
            marks::SNAPSHOT_TOO_LARGE.hit();
            crate::events::snapshots_ended(ended, "files kept more than snapshot_max_debt_bytes for them");
        }
    }

    /// The approximate number of bytes that files keep only because a snapshot may need them.
    pub fn debt(&self) -> u64 {
        self.visibility.oldest_seq().map_or(0, |oldest| self.debt_above(oldest))
    }

    /// The same number if the oldest snapshot were at `oldest`. Cheap, because the partitions maintain the figures.
    fn debt_above(&self, oldest: Seq) -> u64 {
        let mut bytes: u64 = self.partitions.iter().map(|p| p.kept_bytes(oldest)).sum();
        for tree in self.trees.dropped_after(oldest) {
            bytes += self.partitions.iter().map(|p| p.tree_bytes(tree.0)).sum::<u64>();
        }
        bytes
    }

    fn max_debt(&self) -> u64 {
        let quarter = || self.partitions.iter().map(|p| p.file_bytes()).sum::<u64>() / 4;
        self.max_debt_bytes.unwrap_or_else(|| quarter().max(LEAST_SNAPSHOT_DEBT))
    }
}

//! Figures of a running store.

use crate::store::{Inner, Store};
use std::time::Duration;

/// Figures of a store. Bytes and counts since it was opened, unless they say "now".
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Bytes of all files now.
    pub disk_bytes: u64,
    /// Bytes of the log now, preallocated space included.
    pub log_bytes: u64,
    /// Bytes written to the log.
    pub log_bytes_written: u64,
    /// Bytes that flushes wrote.
    pub flushed_bytes: u64,
    /// Bytes that compactions wrote.
    pub compacted_bytes: u64,
    /// Memory budget in bytes.
    pub memory_budget_bytes: usize,
    /// Bytes of memtables now, active and sealed.
    pub memtable_bytes: usize,
    /// Bytes of cached blocks now.
    pub cache_bytes: usize,
    /// Bytes of open files' indexes, and of dictionaries, now.
    pub pinned_bytes: usize,
    /// Block cache hits.
    pub cache_hits: u64,
    /// Block cache misses: blocks read from files.
    pub cache_misses: u64,
    /// Debt now, 0 (none) to 1 (writers wait).
    pub debt: f64,
    /// Bytes that compaction is behind, now.
    pub compaction_debt_bytes: u64,
    /// Writes that were slowed.
    pub admission_waits: u64,
    /// How long they waited, together.
    pub admission_waited: Duration,
    /// Live snapshots now.
    pub snapshots: usize,
    /// The age of the oldest snapshot now.
    pub oldest_snapshot_age: Option<Duration>,
    /// About the bytes that sorted files keep only because a snapshot may need them, now.
    pub snapshot_debt_bytes: u64,
    /// The number of the last visible operation.
    pub visible: u64,
    /// The last failure of background work, as text, while it lasts.
    pub background_error: Option<String>,
    /// Deltas that could not apply, and were passed over when they were folded for good.
    pub deltas_refused: u64,
    /// Each partition.
    pub partitions: Vec<PartitionStats>,
}

/// Figures of one partition, now.
#[derive(Debug, Clone, Default)]
pub struct PartitionStats {
    /// Sorted runs, the base included.
    pub runs: usize,
    /// Sorted files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of the keys and values in them.
    pub raw_bytes: u64,
    /// Entries in them, tombstones and old versions included.
    pub entries: u64,
    /// Tombstones in them.
    pub tombstones: u64,
    /// Ranges of deleted keys that may still hide something in them.
    pub ranges: u64,
    /// Files that moved down a level without being rewritten.
    pub trivial_moves: u64,
}

impl Store {
    /// Bytes of the disk that writes leave free: [`crate::Options::disk_reserve_bytes`], or what follows from the
    /// other options.
    pub fn disk_reserve_bytes(&self) -> u64 {
        self.inner.options.disk_reserve()
    }

    /// Figures of the running store. Costs microseconds, not I/O.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }
}

impl Inner {
    fn stats(&self) -> Stats {
        let (admission_waits, admission_waited) = self.admission.waits();
        let mut stats = Stats {
            log_bytes: self.wal.bytes_on_disk(),
            log_bytes_written: self.wal.bytes_written(),
            memory_budget_bytes: self.options.memory_bytes,
            debt: self.debt(),
            admission_waits,
            admission_waited,
            snapshots: self.visibility.snapshot_count(),
            oldest_snapshot_age: self.visibility.oldest().map(|(_, age)| age),
            snapshot_debt_bytes: self.snapshot_debt(),
            visible: self.visibility.visible(),
            background_error: self.background_error.lock().as_ref().map(ToString::to_string),
            ..Stats::default()
        };
        self.add_partitions(&mut stats);
        self.add_budget(&mut stats);
        stats.disk_bytes += stats.log_bytes;
        stats
    }

    fn add_budget(&self, stats: &mut Stats) {
        let budget = &self.shared.budget;
        stats.cache_bytes = budget.used(lsm::Owner::Cache);
        stats.pinned_bytes = budget.used(lsm::Owner::Pinned) + budget.used(lsm::Owner::Dictionaries);
    }

    fn add_partitions(&self, stats: &mut Stats) {
        for partition in &self.partitions {
            let from = partition.stats();
            stats.disk_bytes += from.bytes;
            stats.flushed_bytes += from.bytes_flushed;
            stats.compacted_bytes += from.bytes_compacted;
            stats.deltas_refused += from.deltas_refused;
            stats.memtable_bytes += (from.active_bytes + from.immutable_bytes) as usize;
            stats.cache_hits = from.cache_hits;
            stats.cache_misses = from.cache_misses;
            stats.compaction_debt_bytes += partition.debt().compaction_bytes;
            stats.partitions.push(PartitionStats {
                runs: from.runs,
                files: from.files,
                bytes: from.bytes,
                raw_bytes: from.raw_bytes,
                entries: from.entries,
                tombstones: from.tombstones,
                ranges: from.ranges,
                trivial_moves: from.trivial_moves,
            });
        }
    }
}

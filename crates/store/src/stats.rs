//! Statistics of a running store.

use crate::error::Result;
use crate::scan;
use crate::store::Store;
use crate::trees::TreeId;
use alluvium_codec::bounds::Bounds;
use alluvium_lsm::{Charge, Owner, Partition, QueryMemory, Shared};
use std::time::Duration;

/// Statistics of a store. Bytes and counts are totals since the store was opened, except those marked "now".
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
    /// Bytes of sealed memtables that wait to be flushed, now.
    pub sealed_memtable_bytes: usize,
    /// Bytes of buffers of running flushes and compactions, and of charges by the layer above ([`Store::charge`]), now.
    pub job_bytes: usize,
    /// Bytes of memory that queries hold now; see [`Store::query_memory`].
    pub query_bytes: usize,
    /// Bytes of changes that a database opened for reading only keeps in memory instead of writing them, now.
    pub unwritten_bytes: usize,
    /// Bytes of compression dictionaries, now; part of `pinned_bytes`.
    pub dictionary_bytes: usize,
    /// Bytes of cached blocks now.
    pub cache_bytes: usize,
    /// Bytes of the indexes of open files, and of dictionaries, now.
    pub pinned_bytes: usize,
    /// Block cache hits.
    pub cache_hits: u64,
    /// Block cache misses: blocks read from files.
    pub cache_misses: u64,
    /// Point reads: gets, and the reads of checked writes.
    pub gets: u64,
    /// Blocks that point reads read from files, because they were not cached.
    pub blocks_read_by_gets: u64,
    /// Debt now, 0 (none) to 1 (writers wait).
    pub debt: f64,
    /// The current backlog of compaction, in bytes.
    pub compaction_debt_bytes: u64,
    /// Writes that were slowed.
    pub admission_waits: u64,
    /// The total time of these waits.
    pub admission_waited: Duration,
    /// Live snapshots now.
    pub snapshots: usize,
    /// The age of the oldest snapshot, now. Each scan and cursor also holds a snapshot.
    pub oldest_snapshot_age: Option<Duration>,
    /// The number of the last operation that the oldest snapshot sees, now.
    pub oldest_snapshot_seq: Option<u64>,
    /// Obsolete files that only exist because a reader holds them, now.
    pub files_held: usize,
    /// The approximate number of bytes that sorted files keep only because a snapshot may need them, now.
    pub snapshot_debt_bytes: u64,
    /// The number of the last visible operation.
    pub visible: u64,
    /// The last failure of background work, as text, until the work succeeds again.
    pub background_error: Option<String>,
    /// Deltas that could not be applied, and were discarded when they were folded permanently.
    pub deltas_refused: u64,
    /// The figures of each partition.
    pub partitions: Vec<PartitionStats>,
}

/// Figures of one partition, now.
#[derive(Debug, Clone, Default)]
pub struct PartitionStats {
    /// Sorted runs, the base included.
    pub runs: usize,
    /// Sorted files.
    pub files: usize,
    /// Bytes of the sorted files.
    pub bytes: u64,
    /// Bytes of the files in the base.
    pub base_bytes: u64,
    /// The approximate number of bytes that a reader can see. An overwritten version counts until it is merged.
    pub live_bytes: u64,
    /// The bytes of the keys and values in the files.
    pub raw_bytes: u64,
    /// Entries in the files, tombstones and old versions included.
    pub entries: u64,
    /// Tombstones in the files.
    pub tombstones: u64,
    /// Deleted ranges that may still hide keys in the files.
    pub ranges: u64,
    /// The memory of these ranges in bytes.
    pub range_bytes: u64,
    /// Files that moved down a level without being rewritten, since open.
    pub trivial_moves: u64,
    /// Bytes of the memtable that takes writes.
    pub memtable_bytes: u64,
    /// Memtables that wait to be flushed.
    pub sealed_memtables: usize,
    /// Bytes of sealed memtables.
    pub sealed_memtable_bytes: u64,
    /// Flushes since open.
    pub flushes: u64,
    /// Bytes of keys and values that were flushed.
    pub taken_bytes: u64,
    /// Bytes that the flushes wrote.
    pub flushed_bytes: u64,
    /// Compactions since open, without moves.
    pub compactions: u64,
    /// Bytes that the compactions wrote.
    pub compacted_bytes: u64,
    /// The backlog of compaction, in bytes.
    pub compaction_debt_bytes: u64,
    /// Obsolete files that only exist because a reader holds them.
    pub files_held: usize,
}

impl PartitionStats {
    /// Bytes of the sorted files for each byte that a reader can see; `None` if a reader can see none. This is an
    /// estimate and at most the true value, because an overwritten version counts as live until it is merged.
    ///
    /// ```
    /// let stats = alluvium_store::PartitionStats { bytes: 120, live_bytes: 100, ..alluvium_store::PartitionStats::default() };
    /// assert_eq!(stats.space_amplification(), Some(1.2));
    /// ```
    pub fn space_amplification(&self) -> Option<f64> {
        ratio(self.bytes, self.live_bytes)
    }

    /// Bytes that flushes and compactions wrote for each byte of keys and values that was flushed, since open; `None`
    /// before the first flush. The value is below 1 if compression saves more than rewriting adds. The log does not
    /// count.
    ///
    /// ```
    /// let stats = alluvium_store::PartitionStats {
    ///     taken_bytes: 1000,
    ///     flushed_bytes: 300,
    ///     compacted_bytes: 200,
    ///     ..alluvium_store::PartitionStats::default()
    /// };
    /// assert_eq!(stats.write_amplification(), Some(0.5));
    /// ```
    pub fn write_amplification(&self) -> Option<f64> {
        ratio(self.flushed_bytes + self.compacted_bytes, self.taken_bytes)
    }

    /// The most memtables and sorted runs that a get reads. A get skips runs whose range or filter excludes the key.
    ///
    /// ```
    /// let stats = alluvium_store::PartitionStats { runs: 3, sealed_memtables: 1, ..alluvium_store::PartitionStats::default() };
    /// assert_eq!(stats.read_amplification(), 5);
    /// ```
    pub fn read_amplification(&self) -> usize {
        1 + self.sealed_memtables + self.runs
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Statistics of one tree in sorted files. Bytes of memtables do not count.
#[derive(Debug, Clone, Default)]
pub struct TreeStats {
    /// Files with only this tree.
    pub files: u64,
    /// Bytes of the files with only this tree.
    pub bytes: u64,
    /// Bytes of the keys and values in these files.
    pub raw_bytes: u64,
    /// Entries in these files, including tombstones and old versions.
    pub entries: u64,
    /// Tombstones in these files.
    pub tombstones: u64,
    /// Files with this tree and others.
    pub shared_files: u64,
    /// Bytes of the shared files.
    pub shared_bytes: u64,
    /// The approximate number of keys of the tree, memtables included. It is estimated from a few blocks of each run.
    pub keys: u64,
}

impl Store {
    /// Bytes of the disk that writes leave free: [`crate::Options::disk_reserve_bytes`], or the
    /// value derived from the other options.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.disk_reserve_bytes() > 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn disk_reserve_bytes(&self) -> u64 {
        self.options.disk_reserve()
    }

    /// Statistics of the running store. The call takes microseconds and no I/O.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert_eq!(store.stats().partitions.len(), store.partitions() as usize);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stats(&self) -> Stats {
        let waits = self.admission.waits();
        let oldest = self.visibility.oldest();
        let mut stats = Stats {
            log_bytes: self.wal.bytes_on_disk(),
            log_bytes_written: self.wal.bytes_written(),
            memory_budget_bytes: self.options.memory_bytes,
            debt: self.admission.debt(),
            admission_waits: waits.count,
            admission_waited: waits.time,
            snapshots: self.visibility.snapshot_count(),
            oldest_snapshot_age: oldest.map(|(_, age)| age),
            oldest_snapshot_seq: oldest.map(|(seq, _)| seq),
            snapshot_debt_bytes: self.upkeep.snapshot_debt(),
            visible: self.visibility.visible(),
            background_error: self.upkeep.last_failure().as_ref().map(ToString::to_string),
            ..Stats::default()
        };
        self.partitions.iter().for_each(|partition| stats.add_partition(partition));
        stats.add_budget(&self.shared);
        stats.disk_bytes += stats.log_bytes;
        stats
    }

    /// Charges memory of the caller, for instance for a sort, to the budget until the charge is dropped. The block
    /// cache shrinks accordingly.
    ///
    /// ```
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// let sorting = store.charge(8 << 20);
    /// // … sorts within 8 MiB …
    /// drop(sorting);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn charge(&self, bytes: usize) -> Charge {
        self.shared.budget.charge(Owner::Jobs, bytes)
    }

    /// The account of a new query. Its memory is charged to the share that all queries of the store have together.
    ///
    /// ```
    /// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), alluvium_store::Options::default())?;
    /// let query = store.query_memory();
    /// let mut sort = query.charge();
    /// assert!(sort.grow(8 << 20), "there is memory for 8 MiB");
    /// assert!(!sort.grow(1 << 40), "but not for a terabyte");
    /// drop(sort);
    /// assert_eq!(query.held(), 0);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn query_memory(&self) -> QueryMemory {
        QueryMemory::new(&self.shared.budget)
    }

    /// The approximate number of keys of a tree within bounds, memtables included. It is estimated from a few blocks of
    /// each run.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// for n in 0_u32..1000 {
    ///     let mut batch = store.batch();
    ///     batch.put(pets, &n.to_be_bytes(), b"");
    ///     store.write(batch, Durability::Bulk)?;
    /// }
    /// let all = alluvium_store::Bounds::all();
    /// let mut about = 0;
    /// for partition in 0..store.partitions() {
    ///     about += store.estimate(pets, partition, &all)?;
    /// }
    /// assert!((500..2000).contains(&about));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn estimate(&self, tree: TreeId, partition: u32, bounds: &Bounds) -> Result<u64> {
        self.health.check_open()?;
        match self.partitions.get(partition as usize) {
            Some(partition) => scan::estimate(partition, tree, bounds),
            None => Ok(0),
        }
    }

    /// Statistics of one tree. Reads a few blocks of each sorted run.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// println!("{:?}", store.tree_stats(pets)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchTree`], or as [`Store::get`].
    pub fn tree_stats(&self, tree: TreeId) -> Result<TreeStats> {
        self.health.check_open()?;
        self.trees.check_live(&[tree.0], &[])?;
        let mut stats = TreeStats::default();
        for partition in &*self.partitions {
            stats.keys += scan::estimate(partition, tree, &Bounds::all())?;
            for file in partition.files().iter().filter(|file| file.trees.contains(&tree.0)) {
                if file.trees.len() > 1 {
                    stats.shared_files += 1;
                    stats.shared_bytes += file.meta.bytes;
                    continue;
                }
                stats.files += 1;
                stats.bytes += file.meta.bytes;
                stats.raw_bytes += file.meta.raw_bytes;
                stats.entries += file.meta.entries;
                stats.tombstones += file.meta.tombstones;
            }
        }
        Ok(stats)
    }
}

impl Stats {
    /// Blocks read from files for each point read; `None` before the first. The value is 0 if all blocks are cached,
    /// and mostly below 1, because filters exclude runs that do not have the key.
    ///
    /// ```
    /// let stats = alluvium_store::Stats { gets: 200, blocks_read_by_gets: 50, ..alluvium_store::Stats::default() };
    /// assert_eq!(stats.blocks_read_per_get(), Some(0.25));
    /// ```
    pub fn blocks_read_per_get(&self) -> Option<f64> {
        (self.gets > 0).then(|| self.blocks_read_by_gets as f64 / self.gets as f64)
    }

    /// The fraction of the blocks requested by point reads and scans that were cached; `None` before the first request.
    ///
    /// ```
    /// let stats = alluvium_store::Stats { cache_hits: 3, cache_misses: 1, ..alluvium_store::Stats::default() };
    /// assert_eq!(stats.cache_hit_rate(), Some(0.75));
    /// ```
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let requested = self.cache_hits + self.cache_misses;
        (requested > 0).then(|| self.cache_hits as f64 / requested as f64)
    }

    fn sum(&self, part: impl Fn(&PartitionStats) -> u64) -> u64 {
        self.partitions.iter().map(part).sum()
    }

    /// [`PartitionStats::space_amplification`] of all partitions together.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// assert_eq!(store.stats().space_amplification(), None); // nothing is in files yet
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// store.flush()?;
    /// assert!(store.stats().space_amplification().is_some());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn space_amplification(&self) -> Option<f64> {
        ratio(self.sum(|p| p.bytes), self.sum(|p| p.live_bytes))
    }

    /// [`PartitionStats::write_amplification`] of all partitions together.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// store.flush()?;
    /// assert!(store.stats().write_amplification().is_some());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn write_amplification(&self) -> Option<f64> {
        ratio(self.flushed_bytes + self.compacted_bytes, self.sum(|p| p.taken_bytes))
    }

    /// The highest [`PartitionStats::read_amplification`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// store.flush()?;
    /// assert!(store.stats().read_amplification() >= 1);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn read_amplification(&self) -> usize {
        self.partitions.iter().map(PartitionStats::read_amplification).max().unwrap_or(0)
    }

    fn add_budget(&mut self, shared: &Shared) {
        let budget = &shared.budget;
        self.cache_bytes = budget.used(Owner::Cache);
        self.gets = shared.cache.gets();
        self.blocks_read_by_gets = shared.cache.reads_by_gets();
        self.dictionary_bytes = budget.used(Owner::Dictionaries);
        self.job_bytes = budget.used(Owner::Jobs);
        self.query_bytes = budget.used(Owner::Queries);
        self.unwritten_bytes = budget.used(Owner::Overlay);
        self.pinned_bytes = budget.used(Owner::Pinned) + self.dictionary_bytes;
    }

    fn add_partition(&mut self, partition: &Partition) {
        let from = partition.stats();
        self.disk_bytes += from.bytes;
        self.flushed_bytes += from.bytes_flushed;
        self.compacted_bytes += from.bytes_compacted;
        self.deltas_refused += from.deltas_refused;
        self.memtable_bytes += (from.active_bytes + from.immutable_bytes) as usize;
        self.sealed_memtable_bytes += from.immutable_bytes as usize;
        self.files_held += from.files_held;
        self.cache_hits = from.cache_hits;
        self.cache_misses = from.cache_misses;
        self.compaction_debt_bytes += partition.debt().compaction_bytes;
        self.partitions.push(PartitionStats {
            runs: from.runs,
            files: from.files,
            bytes: from.bytes,
            raw_bytes: from.raw_bytes,
            entries: from.entries,
            tombstones: from.tombstones,
            ranges: from.ranges,
            range_bytes: from.range_bytes,
            trivial_moves: from.trivial_moves,
            base_bytes: from.base_bytes,
            live_bytes: from.live_bytes,
            memtable_bytes: from.active_bytes,
            sealed_memtables: from.immutable_memtables,
            sealed_memtable_bytes: from.immutable_bytes,
            flushes: from.flushes,
            taken_bytes: from.bytes_taken,
            flushed_bytes: from.bytes_flushed,
            compactions: from.compactions,
            compacted_bytes: from.bytes_compacted,
            compaction_debt_bytes: partition.debt().compaction_bytes,
            files_held: from.files_held,
        });
    }
}

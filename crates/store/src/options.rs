//! The options with which a store is opened.

use crate::definitions::Definitions;
use crate::error::{Error, Result};
use crate::fold::Fold;
use crate::tuning::Tuning;
use alluvium_env::Env;
use alluvium_sst::Compression;
use alluvium_wal::Compressor;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The moment at which a write is acknowledged. In all three cases the write goes through the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After the log record of the write is synced to the disk. The write survives power loss.
    Sync,
    /// After the log record of the write is written to the operating system; the log is synced every
    /// [`Options::sync_interval`]. The write survives the death of the process. A power loss may lose writes that were
    /// acknowledged since the start of the last completed sync: an interval and two syncs. If that sync ended more than
    /// three intervals ago, writes wait for the next sync.
    Periodic,
    /// As `Periodic`, except that no write waits for a sync. For bulk loads, which end with a [`crate::Store::sync`] as
    /// their acknowledgement.
    Bulk,
}

/// The options of a store. `Default` is a good start for documents.
#[derive(Debug, Clone)]
pub struct Options {
    /// Create the database if the directory is empty or absent. Default: true.
    pub create_if_missing: bool,
    /// Open for reading only: no file is created, written, renamed or removed. An opening for writing would write some
    /// files (manifests, the new end of the log, the files of a log that is larger than the memtables); these are kept
    /// in memory, within the budget. Writes are refused with [`Error::OpenedForReading`], and no background work runs.
    /// Any number of processes may have a store open for reading at the same time, if none has it open for writing.
    /// Default: false.
    pub read_only: bool,
    /// Partitions of a new database, 1 to 256, fixed when the database is created. `None`: for a new database 1 if
    /// [`Options::memory_bytes`] is below 64 MiB, and otherwise 4; the existing number for an existing one.
    pub partitions: Option<u32>,
    /// Bytes for memtables, caches, filters, indexes, dictionaries and flushes together.
    /// At least 8 MiB. Default: 256 MiB.
    pub memory_bytes: usize,
    /// Threads for flushes and compactions. `None`: one for each core, and at least two.
    pub threads: Option<usize>,
    /// The durability of writes that do not name one. Default: periodic.
    pub durability: Durability,
    /// How often the log is synced under periodic durability. Default: 100 ms.
    pub sync_interval: Duration,
    /// Bytes of a data block before compression, 1 KiB to 1 MiB. Smaller blocks make random reads
    /// cheaper; larger blocks make files smaller. Default: 2 KiB.
    pub block_bytes: usize,
    /// Compression of blocks. Default: Zstandard, level 3.
    pub compression: Compression,
    /// Compress batches from 16 KiB on in the log, in the thread that writes them: the log takes less than half of the
    /// bytes, and a load an eighth to a quarter more CPU (`docs/decisions/0105-compressed-log.md`). Default: true.
    pub log_compression: bool,
    /// Bytes of a log segment. `None`: derived from the memory budget.
    pub segment_bytes: Option<u64>,
    /// The size of a sorted file that compaction tries to reach, in bytes. `None`: derived from the memory budget.
    pub file_bytes: Option<u64>,
    /// Filter bits for each key; 0 disables filters. Default: 10.
    pub filter_bits_per_key: u32,
    /// The age at which a snapshot is ended. Default: one hour.
    pub snapshot_max_age: Duration,
    /// Bytes that files may keep only for snapshots: old versions of keys, and trees that were dropped later. Above
    /// this limit, the oldest snapshots are ended, until files keep no more than the limit for the others. `None`: 1
    /// GiB, or a quarter of the bytes in sorted files, if that is more.
    pub snapshot_max_debt_bytes: Option<u64>,
    /// Bytes of the disk that writes leave free, so that flushes and compactions can finish. No log segment is made
    /// that would leave less (deletes leave half), and a write that needs one is refused with [`Error::NoSpace`]. No
    /// space is allocated for the reserve. 0 disables it. `None`: the bytes that memtables may hold, and four sorted
    /// files ([`Options::file_bytes`]), which are enough for most compactions; with the other defaults, 166 MiB. The
    /// derived value is at most a twentieth of the volume, unless memtables and two sorted files need more. On volumes
    /// below 2 GiB, memtables and sorted files are smaller.
    pub disk_reserve_bytes: Option<u64>,
    /// The effect of deltas on values. Without it, keys that have deltas cannot be read. Default:
    /// `None`.
    pub fold: Option<Arc<dyn Fold>>,
    /// Read and write sorted files without the system's page cache (`O_DIRECT`), so that the store
    /// uses no more memory than [`Options::memory_bytes`]. The log is written through the page
    /// cache. Linux only, and not on every file system. Default: false.
    pub direct_io: bool,
    /// The definitions that values use. Sorted files keep a copy of them, for salvage. Default: `None`.
    pub definitions: Option<Arc<dyn Definitions>>,
    /// Run flushes and compactions in the background. Only tests disable this, and call [`crate::Store::run_pending`].
    /// Default: true.
    pub background: bool,
    /// Replay a damaged log as far as possible and skip damaged records, instead of refusing to open. The
    /// [`crate::OpenReport`] lists the skipped numbers. Default: false.
    pub accept_log_damage: bool,
    /// Sizes that tests reduce. Default: derived from the memory budget.
    pub tuning: Tuning,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create_if_missing: true,
            read_only: false,
            partitions: None,
            memory_bytes: 256 << 20,
            threads: None,
            durability: Durability::Periodic,
            sync_interval: Duration::from_millis(100),
            block_bytes: 2 << 10,
            compression: Compression::Zstd { level: 3 },
            log_compression: true,
            segment_bytes: None,
            file_bytes: None,
            filter_bits_per_key: 10,
            snapshot_max_age: Duration::from_secs(3600),
            snapshot_max_debt_bytes: None,
            disk_reserve_bytes: None,
            fold: None,
            direct_io: false,
            definitions: None,
            background: true,
            accept_log_damage: false,
            tuning: Tuning::default(),
        }
    }
}

/// By default, a new database with a memory budget below these bytes has one partition.
const ONE_PARTITION_BELOW: usize = 64 << 20;
/// The default number of partitions of a new database with a larger memory budget.
const DEFAULT_PARTITIONS: u32 = 4;
/// The number of sorted files that a compaction may have to write before it can remove any file.
const RESERVED_FILES: u64 = 4;
/// A derived reserve is at most the volume divided by this.
const VOLUME_PARTS: u64 = 20;
/// Memtables and log have the sizes for a memory budget of at most the volume divided by this. With the default budget,
/// volumes from 2 GiB on have the usual sizes.
const MEMORY_VOLUME_PARTS: u64 = 8;
/// A sorted file has at most the bytes of the volume divided by this.
const FILE_VOLUME_PARTS: u64 = 32;
/// On a small volume, the input of a merge has at most this number of sorted files, which is the default number
/// elsewhere.
const MERGED_FILES: u64 = 12;
/// If memtables and sorted files are made smaller to fit the volume, the reserve is at least this, or half of the
/// volume, so that the largest batch can be flushed.
const SMALL_RESERVE: u64 = BATCH_BYTES_ALWAYS as u64 + (3 << 20);
/// A sync ahead of the end of a segment is not started for fewer bytes than this.
const LEAST_SYNC_AHEAD: u64 = 4 << 20;
/// The greatest part of the memory budget for the buffers of flushes and compactions, in bytes.
const JOB_BYTES: usize = 24 << 20;
/// The size that a batch may have under any budget, in bytes. It is enough for a document of 16 MiB, another one in the
/// record of a write that returns it, and the other data that is written with them. Such a batch is alone in memory
/// ([`crate::admission`]).
const BATCH_BYTES_ALWAYS: usize = 35 << 20;
/// One thread may compress batches for the log at a time for each of these bytes of the memory budget, of which its
/// context takes at most a fortieth.
const LOG_CONTEXT_PART: usize = 32 << 20;
/// The most threads that compress batches for the log at a time.
const MAX_LOG_CONTEXTS: usize = 8;
/// The least memory budget in bytes.
pub(crate) const MIN_MEMORY: usize = 8 << 20;

impl Options {
    /// Refuses invalid options.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |name, must_be| Err(Error::InvalidOption { name, must_be });
        if self.partitions.is_some_and(|p| p == 0 || p > 256) {
            return bad("partitions", "between 1 and 256");
        }
        if self.memory_bytes < MIN_MEMORY {
            return bad("memory_bytes", "at least 8 MiB");
        }
        if self.threads == Some(0) {
            return bad("threads", "at least 1");
        }
        if !(1 << 10..=1 << 20).contains(&self.block_bytes) {
            return bad("block_bytes", "between 1 KiB and 1 MiB");
        }
        if matches!(self.compression, Compression::Zstd { level } if !(1..=19).contains(&level)) {
            return bad("compression", "none, lz4, or zstd with a level between 1 and 19");
        }
        if self.filter_bits_per_key > 40 {
            return bad("filter_bits_per_key", "at most 40");
        }
        if self.segment_bytes.is_some_and(|b| !(4 << 10..=1 << 30).contains(&b)) {
            return bad("segment_bytes", "between 4 KiB and 1 GiB");
        }
        if self.file_bytes.is_some_and(|b| !(1 << 10..=1 << 32).contains(&b)) {
            return bad("file_bytes", "between 1 KiB and 4 GiB");
        }
        self.tuning.check().or_else(|(name, must_be)| bad(name, must_be))?;
        Ok(())
    }

    /// Fits the options to a volume of this many bytes. On a small volume memtables, log and sorted files are smaller,
    /// and so is the reserve that they need.
    pub(crate) fn fitted(mut self, volume_bytes: u64) -> Self {
        self.tuning.volume_bytes.get_or_insert(volume_bytes);
        self
    }

    fn volume_bytes(&self) -> u64 {
        // A store that is opened for reading only writes nothing to the volume.
        self.tuning.volume_bytes.filter(|_| !self.read_only).unwrap_or(u64::MAX)
    }

    /// The memory budget from which the sizes of memtables and log derive.
    fn write_memory_bytes(&self) -> usize {
        let part = usize::try_from(self.volume_bytes() / MEMORY_VOLUME_PARTS).unwrap_or(usize::MAX);
        self.memory_bytes.min(part.max(MIN_MEMORY))
    }

    /// The bytes that all memtables, active and sealed, may hold together.
    pub(crate) fn memtable_bytes(&self) -> usize {
        self.write_memory_bytes() / 5 * 2
    }

    /// The bytes of a log record at which callers that can divide their work should begin another batch.
    pub(crate) fn batch_bytes(&self) -> usize {
        (self.memtable_bytes() / 2).min(256 << 20)
    }

    /// The largest batch, in bytes of its log record.
    pub(crate) fn max_batch_bytes(&self) -> usize {
        self.tuning.max_batch_bytes.unwrap_or(self.batch_bytes().max(BATCH_BYTES_ALWAYS))
    }

    /// The length of a log segment in bytes.
    pub(crate) fn log_segment_bytes(&self) -> u64 {
        self.segment_bytes.unwrap_or((self.write_memory_bytes() as u64 / 16).clamp(1 << 20, 64 << 20))
    }

    /// Compresses batches for the log.
    pub(crate) fn log_compressor(&self) -> Compressor {
        let threads = (self.memory_bytes / LOG_CONTEXT_PART).clamp(1, MAX_LOG_CONTEXTS);
        let writes = self.log_compression && !self.read_only;
        Compressor::new(if writes { threads } else { 0 }, self.tuning.log_compression_bytes)
    }

    /// The size of a sorted file that compaction tries to reach, in bytes.
    pub(crate) fn sorted_file_bytes(&self) -> u64 {
        let part = (self.volume_bytes() / FILE_VOLUME_PARTS).max(1 << 20);
        self.file_bytes.unwrap_or(alluvium_lsm::Options::default().target_file_bytes.min(part))
    }

    /// The bytes of the disk that new log segments leave free: [`Options::disk_reserve_bytes`], or
    /// the value derived from the other options; 0 if the store is opened for reading only.
    ///
    /// ```
    /// let options = alluvium_store::Options { disk_reserve_bytes: Some(1 << 20), ..alluvium_store::Options::default() };
    /// assert_eq!(options.disk_reserve(), 1 << 20);
    /// assert!(alluvium_store::Options::default().disk_reserve() > 64 << 20);
    /// ```
    pub fn disk_reserve(&self) -> u64 {
        if self.read_only {
            return 0;
        }
        let derived = self.memtable_bytes() as u64 + RESERVED_FILES * self.sorted_file_bytes();
        self.disk_reserve_bytes.unwrap_or(derived)
    }

    /// As [`Options::disk_reserve`], for a store in a directory. A derived value is at most a twentieth of the volume,
    /// unless memtables and a merge of two files need more. On small volumes, both parts of the reserve are smaller.
    ///
    /// ```
    /// let env = alluvium_env::Env::in_memory(1);
    /// let options = alluvium_store::Options::default();
    /// assert!(options.disk_reserve_at(&env, "/".as_ref()) <= options.disk_reserve());
    /// ```
    pub fn disk_reserve_at(&self, env: &Env, dir: &Path) -> u64 {
        match env.fs.capacity_bytes(dir) {
            Ok(capacity) if self.disk_reserve_bytes.is_none() => {
                let fitted = self.clone().fitted(capacity);
                // With a smaller reserve, a full disk might accept no deletes, because no flush and no merge could
                // finish.
                let small = self.least_reserve().min(SMALL_RESERVE).min(capacity / 2);
                let least = fitted.least_reserve().max(small);
                (capacity / VOLUME_PARTS).min(fitted.disk_reserve()).max(least)
            }
            _ => self.disk_reserve(),
        }
    }

    /// The bytes that a flush of all memtables and a merge of two files need.
    fn least_reserve(&self) -> u64 {
        self.memtable_bytes() as u64 + 2 * self.sorted_file_bytes()
    }

    /// The log is synced in the background when more bytes than this are not synced.
    pub(crate) fn sync_ahead_bytes(&self) -> u64 {
        (self.log_segment_bytes() / 4).max(LEAST_SYNC_AHEAD)
    }

    /// When the log exceeds this many bytes, memtables are flushed so that segments can be removed.
    pub(crate) fn log_limit_bytes(&self) -> u64 {
        let usual = (self.write_memory_bytes() as u64 / 2).max(2 * self.log_segment_bytes());
        self.tuning.log_limit_bytes.unwrap_or(usual)
    }

    /// The part of the memory budget for flushes and compactions, in bytes.
    pub(crate) fn job_bytes(&self) -> usize {
        (self.memory_bytes / 8).min(JOB_BYTES)
    }

    /// The bytes that a store that is opened for reading only may keep in memory instead of writing them: the budget
    /// less memtables, flushes and the smallest cache.
    pub(crate) fn overlay_bytes(&self) -> u64 {
        let taken = self.memtable_bytes() + self.job_bytes() + self.memory_bytes / 32;
        self.memory_bytes.saturating_sub(taken) as u64
    }

    /// The number of partitions of a new database. A small budget is not divided: each partition has memtables and
    /// runs of its own, and a range of an index is read from each (`docs/decisions/0106-few-partitions.md`).
    pub(crate) fn new_partitions(&self) -> u32 {
        let default = if self.memory_bytes < ONE_PARTITION_BELOW { 1 } else { DEFAULT_PARTITIONS };
        self.partitions.unwrap_or(default)
    }

    /// The options of the partitions.
    pub(crate) fn lsm(&self, database_id: u64, partitions: u32) -> alluvium_lsm::Options {
        let mut lsm = alluvium_lsm::Options { database_id, ..alluvium_lsm::Options::default() };
        lsm.writer.block_bytes = self.block_bytes;
        lsm.writer.filter_bits_per_key = self.filter_bits_per_key;
        lsm.writer.compression = self.compression;
        // A job buffers this many bytes until it knows whether a dictionary is worth its space in the output. Therefore
        // a small budget gives smaller files a smaller dictionary. The ratio is 64 to 1, so that the copy in each file
        // costs some 4%.
        lsm.dictionary_file_bytes = (self.memory_bytes as u64 / 32).clamp(1 << 20, 4 << 20);
        lsm.dictionary_bytes = (lsm.dictionary_file_bytes / 64) as usize;
        let usual = lsm.target_file_bytes;
        lsm.target_file_bytes = self.sorted_file_bytes();
        if self.file_bytes.is_none() && lsm.target_file_bytes < usual {
            lsm.max_job_bytes = MERGED_FILES * lsm.target_file_bytes;
            lsm.upper_floor_bytes = lsm.target_file_bytes;
        }
        lsm.direct_io = self.direct_io;
        // Far below the size at which an edit is refused.
        let most = alluvium_codec::limits::FULL_RANGE_BYTES as u64 / 4;
        lsm.max_range_bytes = (self.memory_bytes as u64 / 32 / u64::from(partitions)).clamp(64 << 10, most);
        self.tuning.apply(&mut lsm);
        lsm
    }
}

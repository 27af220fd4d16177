//! Figures of a partition: what it holds, what it has done, what it owes.

use codec::entry::Seq;
use std::sync::atomic::{AtomicU64, Ordering};

/// Work that flushes and compactions are behind with; admission control slows writers by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Debt {
    /// Memory of immutable memtables that wait to be flushed, in bytes.
    pub immutable_bytes: u64,
    /// Sorted runs, the base included if it has files.
    pub runs: usize,
    /// Bytes above the base beyond what the shape of the tree allows.
    pub compaction_bytes: u64,
}

/// The figures of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Files of the current version.
    pub files: usize,
    /// Sorted runs, the base included if it has files.
    pub runs: usize,
    /// Bytes of the files.
    pub bytes: u64,
    /// Bytes of the files in the base.
    pub base_bytes: u64,
    /// Bytes of all keys and values in the files.
    pub raw_bytes: u64,
    /// Entries in the files, all versions and tombstones included.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Memory of the active memtable in bytes.
    pub active_bytes: u64,
    /// Memory of the immutable memtables in bytes.
    pub immutable_bytes: u64,
    /// The immutable memtables.
    pub immutable_memtables: usize,
    /// Everything up to this number is in files.
    pub flushed_seq: Seq,
    /// Flushes since open.
    pub flushes: u64,
    /// Bytes that flushes wrote since open.
    pub bytes_flushed: u64,
    /// Compactions since open, trivial moves not counted.
    pub compactions: u64,
    /// Bytes that compactions wrote since open.
    pub bytes_compacted: u64,
    /// Bytes that compactions read since open.
    pub bytes_read_by_compactions: u64,
    /// Files that sank to an older run by an edit alone since open, at a flush or later.
    pub trivial_moves: u64,
    /// Distinct dictionaries that the files use.
    pub dictionaries: usize,
    /// Files that are out of the version but still held by a reader.
    pub files_held: usize,
    /// The manifest's length in bytes.
    pub manifest_bytes: u64,
    /// Hits of the block cache, which all partitions share.
    pub cache_hits: u64,
    /// Its misses.
    pub cache_misses: u64,
    /// The bytes it holds.
    pub cache_bytes: u64,
    /// The bytes it may hold.
    pub cache_capacity: u64,
}

/// One file of the current version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// The run; the base is 0, and newer runs have higher numbers.
    pub run: u64,
    /// What the manifest knows of the file.
    pub meta: sst::FileMeta,
    /// The trees with keys in the file, ascending.
    pub trees: Vec<u32>,
}

/// What [`crate::Partition::verify`] found.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// Files read to the end.
    pub files: usize,
    /// Entries in them.
    pub entries: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// What is wrong; empty if all is well.
    pub damage: Vec<env::Error>,
}

/// Counters since open.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub flushes: AtomicU64,
    pub bytes_flushed: AtomicU64,
    pub compactions: AtomicU64,
    pub bytes_compacted: AtomicU64,
    pub bytes_read: AtomicU64,
    pub trivial_moves: AtomicU64,
}

impl Counters {
    /// Adds to a counter.
    pub fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }
}

//! One partition.

use crate::{CompactionJob, Debt, FileInfo, Outcome, PartitionIter, Shared, Stats, Verified, View};
use codec::entry::Seq;
use memtable::Memtable;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// One partition of a store: an LSM tree.
pub struct Partition {}

#[allow(unused_variables)]
impl Partition {
    /// Opens a partition, or creates it if the directory is empty or absent.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`], [`env::Error::NewerFormat`] or [`env::Error::Io`].
    pub fn open(shared: Arc<Shared>, index: u32, dir: &Path) -> env::Result<Self> {
        Ok(Self {})
    }
    /// Everything up to this number is in files.
    pub fn flushed_seq(&self) -> Seq {
        0
    }
    /// Memtables and version of one moment.
    pub fn view(&self) -> Arc<View> {
        Arc::new(View {})
    }
    /// The memtable that takes writes.
    pub fn active(&self) -> Arc<Memtable> {
        Arc::new(Memtable::new(1))
    }
    /// Seals the active memtable. Only the commit leader calls it. False if it is empty.
    pub fn rotate(&self, next_seq: Seq) -> bool {
        false
    }
    /// Reads a key at a registered snapshot. False if it is absent.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`] or [`env::Error::Io`].
    pub fn get(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> env::Result<bool> {
        Ok(false)
    }
    /// Reads a key without a registered snapshot: the view is pinned before `visible` is asked.
    ///
    /// # Errors
    /// As [`Partition::get`].
    pub fn get_latest(&self, key: &[u8], visible: impl FnOnce() -> Seq, value: &mut Vec<u8>) -> env::Result<bool> {
        Ok(false)
    }
    /// Iterates over the puts that are visible at `seq`, a registered snapshot.
    pub fn iter(&self, view: Arc<View>, seq: Seq, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> PartitionIter {
        PartitionIter {}
    }
    /// Flushes the oldest immutable memtable. False if there is none.
    ///
    /// # Errors
    /// What the file system said.
    pub fn flush_oldest(&self) -> env::Result<bool> {
        Ok(false)
    }
    /// The most useful compaction now.
    pub fn pick_compaction(&self) -> Option<CompactionJob> {
        None
    }
    /// Runs a compaction. `should_yield` is polled between blocks; it may run flushes itself;
    /// true abandons the job.
    ///
    /// # Errors
    /// What the file system said.
    pub fn run_compaction(&self, job: CompactionJob, should_yield: &dyn Fn() -> bool) -> env::Result<Outcome> {
        Ok(Outcome::Done)
    }
    /// What the partition owes.
    pub fn debt(&self) -> Debt {
        Debt::default()
    }
    /// Compacts everything into the base.
    ///
    /// # Errors
    /// What the file system said.
    pub fn compact_all(&self) -> env::Result<()> {
        Ok(())
    }
    /// Reads and checks every file.
    ///
    /// # Errors
    /// None yet.
    pub fn verify(&self) -> env::Result<Verified> {
        Ok(Verified::default())
    }
    /// The figures.
    pub fn stats(&self) -> Stats {
        Stats::default()
    }
    /// The files of the current version.
    pub fn files(&self) -> Vec<FileInfo> {
        Vec::new()
    }
    /// Removes the files that hold nothing but keys of this and other dead trees.
    ///
    /// # Errors
    /// What the file system said.
    pub fn drop_tree(&self, tree: u32) -> env::Result<()> {
        Ok(())
    }
    /// Why the partition takes no more edits, if so.
    pub fn poisoned(&self) -> Option<env::Error> {
        None
    }
}

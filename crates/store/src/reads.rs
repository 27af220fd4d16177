//! Reads: of the latest visible state, or at a snapshot.
//!
//! A reader first pins the view of its partition and then takes its number: see [`alluvium_lsm::Partition::view`].

use crate::batch::WriteBatch;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::keys;
use crate::partitions::{self, Partitions};
use crate::trees::{SYSTEM, TreeId, Trees};
use crate::visibility::{Snapshot, Visibility};
use alluvium_codec::entry::Seq;
use alluvium_lsm::{Cache, Partition, View};
use std::sync::Arc;

/// Reads keys of partitions.
pub(crate) struct Reads {
    pub health: Arc<Health>,
    pub partitions: Partitions,
    pub visibility: Arc<Visibility>,
    pub trees: Arc<Trees>,
    /// Counts the gets.
    pub cache: Arc<Cache>,
    /// The memory budget of the store.
    pub memory_bytes: usize,
}

impl Reads {
    /// Calls `f` with the internal key, and with the partition that holds it.
    #[inline]
    fn at<T>(&self, tree: TreeId, key: &[u8], f: impl FnOnce(&[u8], &Partition) -> Result<T>) -> Result<T> {
        let partition = self.partition_of(tree, key);
        keys::with_internal(tree, key, |internal| f(internal, &self.partitions[partition]))
    }

    /// The partition that holds a key.
    #[inline]
    fn partition_of(&self, tree: TreeId, key: &[u8]) -> usize {
        match tree {
            SYSTEM => 0,
            _ => {
                let hash = alluvium_codec::hash64(key);
                self.cache.count_get();
                keys::partition_of(hash, self.partitions.len() as u32) as usize
            }
        }
    }

    /// Reads the latest visible state of a partition under a registered snapshot. Repeats the read if the snapshot was
    /// ended during the read.
    fn read_registered<T>(
        &self,
        partition: &Partition,
        mut read: impl FnMut(&View, Seq) -> alluvium_env::Result<T>,
    ) -> Result<T> {
        loop {
            let snapshot = self.visibility.snapshot();
            let view = partition.view();
            let found = self.health.read(read(&view, snapshot.seq()))?;
            match snapshot.check() {
                Ok(()) => return Ok(found),
                Err(Error::SnapshotTooOld) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns an error if the tree cannot be read at the snapshot. Must be called after views were pinned: from then
    /// on, the data in these views is kept without the snapshot.
    pub fn check_readable(&self, tree: TreeId, snapshot: &Snapshot) -> Result<()> {
        snapshot.check()?;
        // If the snapshot has ended since, it no longer keeps a dropped tree.
        let readable = self.trees.check_readable(tree, snapshot.seq());
        readable.map_err(|gone| snapshot.check().err().unwrap_or(gone))
    }

    /// Reads the latest visible value of a key into `value`. Returns how many deltas were folded for the value, or
    /// `None` if there is no value.
    pub fn get(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<Option<usize>> {
        self.health.check_open()?;
        self.at(tree, key, |internal, partition| {
            let view = partition.pin();
            let seq = self.visibility.visible();
            if view.needs_snapshot() {
                return self.read_registered(partition, |view, seq| view.get_chained(internal, seq, value));
            }
            self.health.read(view.get_chained(internal, seq, value))
        })
    }

    /// As [`Reads::get`], for a store that is still being opened. Also returns `None` if the value cannot be read.
    pub fn get_if_readable(&self, tree: TreeId, key: &[u8]) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let found = self.at(tree, key, |internal, partition| {
            let view = partition.view();
            Ok(view.get(internal, self.visibility.visible(), &mut value)?)
        });
        found.is_ok_and(|found| found).then_some(value)
    }

    /// Reads a key at a snapshot by calling `read`.
    pub fn at_snapshot<T>(
        &self,
        snapshot: &Snapshot,
        tree: TreeId,
        key: &[u8],
        read: impl FnOnce(&View, &[u8]) -> alluvium_env::Result<T>,
    ) -> Result<T> {
        self.health.check_open()?;
        let partition = self.partition_of(tree, key);
        keys::with_internal(tree, key, |internal| {
            let view = snapshot.over(partition, self.partitions[partition].view());
            self.check_readable(tree, snapshot)?;
            let found = self.health.read(read(&view, internal))?;
            // If the snapshot has ended, range tombstones in memory may have been thinned during the read.
            if view.needs_snapshot() {
                snapshot.check()?;
            }
            Ok(found)
        })
    }

    /// Returns an error if one of the keys that a batch writes has changed after a snapshot. The answer stays true while
    /// the caller holds locks on these keys.
    pub fn check_unchanged(&self, snapshot: &Snapshot, batch: &WriteBatch) -> Result<()> {
        self.health.check_open()?;
        let views = partitions::views(&self.partitions);
        for (partition, internal) in batch.written() {
            let view = &views[partition as usize];
            if self.health.read(view.has_newer(internal, snapshot.seq()))? {
                return Err(Error::Conflict);
            }
        }
        // Tombstones that no snapshot needs are dropped. If the snapshot has ended, a delete may have left no trace.
        snapshot.check()
    }

    /// The number of the last operation on a key.
    pub fn version(&self, tree: TreeId, key: &[u8]) -> Result<Option<Seq>> {
        self.health.check_open()?;
        let find = |view: &View, internal: &[u8], seq: Seq| {
            let found = view.find(internal, seq, &mut Vec::new())?;
            Ok(found.map(|(seq, _)| seq))
        };
        self.at(tree, key, |internal, partition| {
            let view = partition.view();
            let seq = self.visibility.visible();
            if view.needs_snapshot() {
                return self.read_registered(partition, |view, seq| find(view, internal, seq));
            }
            self.health.read(find(&view, internal, seq))
        })
    }
}

//! Reading the latest visible state, or a snapshot.

use super::Store;
use crate::error::{Error, Result};
use crate::prover::Prover;
use crate::scan::Scan;
use crate::trees::TreeId;
use crate::visibility::Snapshot;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::Seq;

impl Store {
    /// Reads the latest visible value of a key into `value`. Returns false if there is no value.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut value = Vec::new();
    /// assert!(!store.get(pets, b"rex", &mut value)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Storage`] for damage or an error of the operating system.
    pub fn get(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(self.get_chained(tree, key, value)?.is_some())
    }

    /// As [`Store::get`], but returns how many deltas were folded for the value, or `None` if there is no value. A
    /// writer of the key can use this count to choose between another delta and a whole value.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// let mut value = Vec::new();
    /// assert_eq!(store.get_chained(pets, b"rex", &mut value)?, Some(0));
    /// assert_eq!(value, b"dog");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn get_chained(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<Option<usize>> {
        self.reads.get(tree, key, value)
    }

    /// Reads the value of a key at a snapshot into `value`. Returns false if there is no value.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.snapshot();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(!store.get_at(&before, pets, b"rex", &mut Vec::new())?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get`]; [`Error::SnapshotTooOld`], and [`Error::NoSuchTree`] if the tree was
    /// dropped before the snapshot.
    pub fn get_at(&self, snapshot: &Snapshot, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.reads.at_snapshot(snapshot, tree, key, |view, internal| view.get(internal, snapshot.seq(), value))
    }

    /// [`Store::get_chained`] at a snapshot.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.snapshot();
    /// assert_eq!(store.get_chained_at(&before, pets, b"rex", &mut Vec::new())?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn get_chained_at(
        &self,
        snapshot: &Snapshot,
        tree: TreeId,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<Option<usize>> {
        self.reads.at_snapshot(snapshot, tree, key, |view, internal| view.get_chained(internal, snapshot.seq(), value))
    }

    /// Reads the value of a key at a snapshot into `value`. Returns the number of the last operation on the key, deltas
    /// included, or `None` if there is no value.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let written = store.write(batch, Durability::Periodic)?;
    /// let mut value = Vec::new();
    /// assert_eq!(store.get_numbered_at(&store.snapshot(), pets, b"rex", &mut value)?, Some(written));
    /// assert_eq!(value, b"dog");
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn get_numbered_at(
        &self,
        snapshot: &Snapshot,
        tree: TreeId,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<Option<Seq>> {
        self.reads.at_snapshot(snapshot, tree, key, |view, internal| {
            let found = view.get_numbered(internal, snapshot.seq(), value)?;
            Ok(found.map(|(seq, _)| seq))
        })
    }

    /// True if a tree can be read at a snapshot, that is, if it was not dropped at or before it. A
    /// readable tree stays readable for as long as the snapshot is held.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.snapshot();
    /// store.drop_trees(&[pets])?;
    /// assert!(store.is_readable_at(&before, pets)?);
    /// assert!(!store.is_readable_at(&store.snapshot(), pets)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`].
    pub fn is_readable_at(&self, snapshot: &Snapshot, tree: TreeId) -> Result<bool> {
        match self.reads.check_readable(tree, snapshot) {
            Ok(()) => Ok(true),
            Err(Error::NoSuchTree(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// True if a tree exists, or was dropped and may still be read at a snapshot.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let options = Options { background: false, ..Options::default() };
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), options)?;
    /// let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.snapshot();
    /// store.drop_trees(&[pets])?;
    /// store.compact()?;
    /// assert!(store.may_be_read(pets));
    /// drop(before);
    /// store.compact()?;
    /// assert!(!store.may_be_read(pets));
    /// # Ok(())
    /// # }
    /// ```
    pub fn may_be_read(&self, tree: TreeId) -> bool {
        self.trees.keeps_keys(tree.0)
    }

    /// The number of the last operation on a key; `None` if the store has no trace of the key. Tombstones, deltas, and
    /// deletes of ranges that contain the key also count.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let written = store.write(batch, Durability::Periodic)?;
    /// assert_eq!(store.version(pets, b"rex")?, Some(written));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn version(&self, tree: TreeId, key: &[u8]) -> Result<Option<Seq>> {
        self.reads.version(tree, key)
    }

    /// [`Store::version`] at a snapshot.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.snapshot();
    /// assert_eq!(store.version_at(&before, pets, b"rex")?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn version_at(&self, snapshot: &Snapshot, tree: TreeId, key: &[u8]) -> Result<Option<Seq>> {
        self.version_below(snapshot, tree, key, None)
    }

    /// As [`Store::version_at`], for a key that, as the caller has read at the snapshot, had a full write with the
    /// number `expected`. If filters show that there is no newer version, no data block is read.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let number = store.write(batch, Durability::Periodic)?;
    /// let now = store.snapshot();
    /// assert_eq!(store.version_at_expecting(&now, pets, b"rex", number)?, Some(number));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn version_at_expecting(
        &self,
        snapshot: &Snapshot,
        tree: TreeId,
        key: &[u8],
        expected: Seq,
    ) -> Result<Option<Seq>> {
        self.version_below(snapshot, tree, key, Some(expected))
    }

    /// A prover of the last operations on many keys of a tree at a snapshot: [`Store::version_at_expecting`] without
    /// the number of another operation, and without a data block. Only for trees of documents.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let number = store.write(batch, Durability::Periodic)?;
    /// let now = store.snapshot();
    /// // The key is in a memtable: only its version there shows which operation was the last.
    /// assert!(!store.prover(&now, pets)?.proves(b"rex", number));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn prover(&self, snapshot: &Snapshot, tree: TreeId) -> Result<Prover> {
        self.health.check_open()?;
        Prover::new(&self.reads, snapshot, tree)
    }

    fn version_below(
        &self,
        snapshot: &Snapshot,
        tree: TreeId,
        key: &[u8],
        expected: Option<Seq>,
    ) -> Result<Option<Seq>> {
        self.reads.at_snapshot(snapshot, tree, key, |view, internal| {
            if let Some(expected) = expected
                && view.proves_newest(internal, expected)?
            {
                return Ok(Some(expected));
            }
            let found = view.find(internal, snapshot.seq(), &mut Vec::new())?;
            Ok(found.map(|(seq, _)| seq))
        })
    }

    /// True if the key has a value. Filters answer most misses without I/O.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// assert!(!store.contains(pets, b"rex")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn contains(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let mut value = Vec::new();
        self.get(tree, key, &mut value)
    }

    /// Scans the keys of a tree in order, at a snapshot (a new one if none is given).
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.put(pets, b"tom", b"cat");
    /// store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(pets, Bounds { reverse: true, ..Bounds::all() }, None)?;
    /// assert_eq!(scan.next()?, Some((&b"tom"[..], &b"cat"[..])));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`]; [`Error::NoSuchTree`] if it was dropped before the snapshot.
    pub fn scan(&self, tree: TreeId, bounds: Bounds, snapshot: Option<&Snapshot>) -> Result<Scan> {
        self.health.check_open()?;
        let snapshot = snapshot.cloned().unwrap_or_else(|| self.snapshot());
        Scan::new(&self.reads, tree, bounds, snapshot, None)
    }

    /// As [`Store::scan`], over one partition.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # batch.put(pets, b"tom", b"cat");
    /// # store.write(batch, Durability::Periodic)?;
    /// let (snapshot, mut found) = (store.snapshot(), 0);
    /// for partition in 0..store.partitions() {
    ///     let mut scan = store.scan_partition(pets, partition, alluvium_store::Bounds::all(), &snapshot)?;
    ///     while let Some((key, _)) = scan.next()? {
    ///         assert_eq!(store.partition_of(key), partition);
    ///         found += 1;
    ///     }
    /// }
    /// assert_eq!(found, 2);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn scan_partition(&self, tree: TreeId, partition: u32, bounds: Bounds, snapshot: &Snapshot) -> Result<Scan> {
        self.health.check_open()?;
        Scan::new(&self.reads, tree, bounds, snapshot.clone(), Some(partition))
    }

    /// The numbers at which reads may happen, ascending: the numbers of live snapshots, and the visible number.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let snapshot = store.snapshot();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// assert_eq!(store.live_snapshots(), [snapshot.seq(), store.visible()]);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn live_snapshots(&self) -> Vec<Seq> {
        self.visibility.live()
    }

    /// Takes a snapshot of the latest visible state of the whole store.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// let now = store.snapshot();
    /// assert_eq!(now.seq(), store.visible());
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        self.visibility.snapshot()
    }

    /// The number of the last visible operation.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.visible();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// assert_eq!(store.visible(), before + 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn visible(&self) -> Seq {
        self.visibility.visible()
    }
}

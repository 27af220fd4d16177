//! Reading: the latest, or what a snapshot sees.

use crate::{Bounds, Error, Result, Scan, Seq, Snapshot, Store, TreeId};

impl Store {
    /// Reads the latest visible value of a key into `value`; false if there is none.
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
    /// [`Error::Storage`] for damage or what the operating system refuses.
    pub fn get(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(self.get_chained(tree, key, value)?.is_some())
    }

    /// As [`Store::get`]; how many deltas were folded for it, or `None` if there is no value. Who is about to write the
    /// key can tell by it whether another delta or a whole value is better.
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
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            // The view first, then the number: see `Partition::view`.
            let view = inner.partitions[partition].pin();
            let seq = inner.visibility.visible();
            if view.needs_snapshot() {
                return inner.read_registered(partition, |view, seq| view.get_chained(internal, seq, value));
            }
            inner.read(view.get_chained(internal, seq, value))
        })
    }

    /// Reads a key's value at a snapshot into `value`; false if there is none.
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
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            let view = inner.partitions[partition].view();
            inner.readable_at(tree, snapshot)?;
            let found = self.inner.read(view.get(internal, snapshot.seq(), value))?;
            // Range tombstones in memory are thinned under a reader whose snapshot has ended.
            if view.needs_snapshot() {
                snapshot.check()?;
            }
            Ok(found)
        })
    }

    /// Whether a tree can be read at a snapshot: it was not dropped at or before it. What can be read stays so for as long as
    /// the snapshot is held.
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
        match self.inner.readable_at(tree, snapshot) {
            Ok(()) => Ok(true),
            Err(Error::NoSuchTree(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// The number of the operation that wrote a key last; `None` if nothing of it is left. A tombstone and a delta
    /// count too, and so does the delete of a range that the key lies in.
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
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            // The view first, then the number, as in `Store::get`.
            let view = inner.partitions[partition].view();
            let seq = inner.visibility.visible();
            if view.needs_snapshot() {
                let found = inner.read_registered(partition, |view, seq| view.find(internal, seq, &mut Vec::new()))?;
                return Ok(found.map(|(seq, _)| seq));
            }
            Ok(view.find(internal, seq, &mut Vec::new())?.map(|(seq, _)| seq))
        })
    }

    /// [`Store::version`] as of a snapshot.
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

    /// As [`Store::version_at`], for a key of which a write was read at the snapshot with the number `expected`, and which put
    /// a value then: where filters tell that nothing newer is there, no data block is read.
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

    fn version_below(
        &self,
        snapshot: &Snapshot,
        tree: TreeId,
        key: &[u8],
        expected: Option<Seq>,
    ) -> Result<Option<Seq>> {
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            let view = inner.partitions[partition].view();
            snapshot.check()?;
            inner.trees.check_readable(tree, snapshot.seq())?;
            if let Some(expected) = expected
                && view.stands_alone(internal, expected)?
            {
                return Ok(Some(expected));
            }
            let found = view.find(internal, snapshot.seq(), &mut Vec::new())?;
            if view.needs_snapshot() {
                snapshot.check()?;
            }
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

    /// Walks the keys of a tree in order, at a snapshot (a fresh one if none is given).
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
        self.inner.open_for_reads()?;
        let snapshot = snapshot.cloned().unwrap_or_else(|| self.inner.visibility.snapshot());
        Scan::new(&self.inner, tree, bounds, snapshot)
    }

    /// Takes a snapshot: the latest visible moment of the whole store.
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
        self.inner.visibility.snapshot()
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
        self.inner.visibility.visible()
    }
}

//! Transactions over keys and values.

use crate::batch::WriteBatch;
use crate::error::{Error, Result};
use crate::options::Durability;
use crate::pauses::Pauses;
use crate::scan::Scan;
use crate::store::Store;
use crate::trees::TreeId;
use crate::visibility::Snapshot;
use crate::write_set::WriteSet;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::Seq;

/// A transaction over the trees of a store: a [`WriteSet`] with the calls of a store. Made by [`Store::begin`] and
/// [`Store::transaction`].
///
/// It reads the state at its begin, under its own writes. Of two transactions that write the same key, the first wins,
/// and the other gets [`Error::Conflict`]. What a transaction only reads may change before its commit. Dropping it
/// leaves nothing.
pub struct Transaction<'a> {
    store: &'a Store,
    set: WriteSet,
}

impl Store {
    /// Begins a transaction at the latest visible state.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut transaction = store.begin();
    /// transaction.put(pets, b"rex", b"dog")?;
    /// assert!(!store.contains(pets, b"rex")?);
    /// transaction.commit(Durability::Periodic)?;
    /// assert!(store.contains(pets, b"rex")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn begin(&self) -> Transaction<'_> {
        Transaction { store: self, set: self.write_set() }
    }

    /// Calls `run` with a transaction, and commits it. Repeats both after [`Error::Conflict`], with pauses that grow, for
    /// up to a minute. Therefore `run` must have no other effects.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let visits = store.create_trees(&[b"visits"])?[0];
    /// store.transaction(Durability::Periodic, |transaction| {
    ///     let mut value = Vec::new();
    ///     let before = if transaction.get(visits, b"rex", &mut value)? { value[0] } else { 0 };
    ///     transaction.put(visits, b"rex", &[before + 1])
    /// })?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Those of `run` and of [`Transaction::commit`].
    pub fn transaction<T>(
        &self,
        durability: Durability,
        mut run: impl FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut pauses = Pauses::new(&self.env);
        loop {
            let mut transaction = self.begin();
            let result = run(&mut transaction);
            match result.and_then(|value| transaction.commit(durability).map(|_| value)) {
                Err(Error::Conflict) if pauses.pause() => self.health.check_open()?,
                result => return result,
            }
        }
    }
}

impl Transaction<'_> {
    /// Reads the value of a key, as [`Store::get`].
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut transaction = store.begin();
    /// transaction.put(pets, b"rex", b"dog")?;
    /// let mut value = Vec::new();
    /// assert!(transaction.get(pets, b"rex", &mut value)? && value == b"dog");
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::get_at`].
    pub fn get(&self, tree: TreeId, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.store.get_at(&self.set.snapshot(), tree, key, value)
    }

    /// Scans the keys of a tree, as [`Store::scan`]. The scan does not see later writes of the transaction.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut transaction = store.begin();
    /// transaction.put(pets, b"rex", b"dog")?;
    /// assert_eq!(transaction.scan(pets, Bounds::all())?.next()?, Some((&b"rex"[..], &b"dog"[..])));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn scan(&self, tree: TreeId, bounds: Bounds) -> Result<Scan> {
        self.store.scan(tree, bounds, Some(&self.set.snapshot()))
    }

    /// The state that the transaction reads now, for other reads of the store and of its multivalue trees.
    pub fn snapshot(&self) -> Snapshot {
        self.set.snapshot()
    }

    /// Sets a key, as [`WriteBatch::put`].
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// store.begin().put(pets, b"rex", b"dog")?;
    /// assert!(!store.contains(pets, b"rex")?); // It was not committed.
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::add`].
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = self.store.batch();
        batch.put(tree, key, value);
        self.add(&batch)
    }

    /// Deletes a key, as [`WriteBatch::delete`].
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut transaction = store.begin();
    /// transaction.put(pets, b"rex", b"dog")?;
    /// transaction.delete(pets, b"rex")?;
    /// assert!(!transaction.get(pets, b"rex", &mut Vec::new())?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::add`].
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let mut batch = self.store.batch();
        batch.delete(tree, key);
        self.add(&batch)
    }

    /// Deletes each key that the transaction sees within bounds. Unlike [`Store::delete_range`], it reads them: a key
    /// that others write in the meantime is a conflict, and a key that others add stays.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut transaction = store.begin();
    /// transaction.put(pets, b"rex", b"dog")?;
    /// assert_eq!(transaction.delete_within(pets, Bounds::all())?, 1);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`] and [`Transaction::add`].
    pub fn delete_within(&mut self, tree: TreeId, bounds: Bounds) -> Result<usize> {
        let mut batch = self.store.batch();
        let mut scan = self.scan(tree, bounds)?;
        while let Some((key, _)) = scan.next()? {
            batch.delete(tree, key);
        }
        self.add(&batch)?;
        Ok(batch.len())
    }

    /// Adds the operations of a batch: deltas, values of multivalue trees, and many keys at once.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let mut transaction = store.begin();
    /// let mut batch = store.batch();
    /// batch.put_value(tree, b"ada", b"math");
    /// transaction.add(&batch)?;
    /// transaction.commit(Durability::Periodic)?;
    /// assert!(store.multivalue(tree)?.contains(b"ada", b"math")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another transaction has written a key of the batch, or if the key has changed since the
    /// transaction began; [`Error::BatchTooLarge`] if the transaction would be larger than a batch may be; as
    /// [`WriteSet::add`].
    pub fn add(&mut self, batch: &WriteBatch) -> Result<()> {
        let (bytes, limit) = (self.set.batch().encoded_bytes() + batch.encoded_bytes(), self.store.max_batch_bytes());
        if bytes > limit {
            return Err(Error::BatchTooLarge { bytes: bytes as u64, limit: limit as u64 });
        }
        self.set.add(batch)?;
        self.store.check_conflicts_of(&self.set, batch)
    }

    /// Makes the writes visible, all at once. Returns the number of the last operation.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Error, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let (mut first, mut second) = (store.begin(), store.begin());
    /// first.put(pets, b"rex", b"dog")?;
    /// assert!(matches!(second.put(pets, b"rex", b"cat"), Err(Error::Conflict)));
    /// first.commit(Durability::Periodic)?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn commit(self, durability: Durability) -> Result<Seq> {
        self.store.commit(self.set, durability)
    }
}

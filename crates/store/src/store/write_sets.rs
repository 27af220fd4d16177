//! Write sets, and their commit.

use super::Store;
use crate::batch::WriteBatch;
use crate::error::Result;
use crate::keys::lock_hash;
use crate::locks::{LockGuard, LockMode};
use crate::options::Durability;
use crate::trees::TreeId;
use crate::write_set::WriteSet;
use alluvium_codec::entry::Seq;

impl Store {
    /// Begins a write set over the latest visible state.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let set = store.write_set();
    /// assert_eq!(set.base().seq(), store.visible());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn write_set(&self) -> WriteSet {
        WriteSet::new(self.snapshot(), self.partitions(), self.claims.begin())
    }

    /// Commits a write set. Returns the number of its last operation, or the visible number if it has none.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another write of a key of the set was committed after the set was begun;
    /// [`Error::SnapshotTooOld`] if its snapshot was ended; as [`Store::write`]. After an error other than
    /// [`Error::OutcomeUnknown`] nothing was written.
    pub fn commit(&self, mut set: WriteSet, durability: Durability) -> Result<Seq> {
        if set.batch.is_empty() {
            return Ok(self.visible());
        }
        let _admitted = self.admit(set.batch.encoded_bytes())?;
        let locks = self.lock_set(&set, std::iter::empty());
        self.check_conflicts(&set)?;
        self.write_locked(set.take_batch(), durability, &locks)
    }

    /// Returns when no open write set has written one of these keys. Plain writes call this before they are admitted and
    /// before they lock, so that they do not make a set fail. `goes_on` is called from time to time, and ends the wait
    /// by returning false. Costs one atomic load while there is no write set.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// assert!(store.wait_for_write_sets([(pets, &b"rex"[..])], &|| false).is_err());
    /// drop(set);
    /// store.wait_for_write_sets([(pets, &b"rex"[..])], &|| true)?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Claimed`] after a minute, or after a second for a set of the same thread; [`Error::Stopped`].
    #[inline]
    pub fn wait_for_write_sets<'a, I>(&self, keys: I, goes_on: &dyn Fn() -> bool) -> Result<()>
    where
        I: IntoIterator<Item = (TreeId, &'a [u8])>,
        I::IntoIter: Clone,
    {
        let hashes = keys.into_iter().map(|(tree, key)| lock_hash(tree.0, alluvium_codec::hash64(key)));
        self.claims.wait(hashes, goes_on)
    }

    /// Locks all keys of a write set, and other keys, exclusively. For callers that check more than
    /// [`Store::check_conflicts`] before they commit: [`Store::admit`], this, their checks, [`Store::write_locked`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// let admitted = store.admit(set.batch().encoded_bytes())?;
    /// let locks = store.lock_set(&set, [(pets, &b"tom"[..])]);
    /// store.check_conflicts(&set)?;
    /// if !store.contains(pets, b"tom")? {
    ///     store.write_locked(set.take_batch(), Durability::Periodic, &locks)?;
    /// }
    /// # drop((locks, admitted));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn lock_set<'a>(&self, set: &WriteSet, others: impl IntoIterator<Item = (TreeId, &'a [u8])>) -> LockGuard {
        let keys = set.batch.ops.iter().map(|op| op.hash);
        let others = others.into_iter().map(|(tree, key)| lock_hash(tree.0, alluvium_codec::hash64(key)));
        self.locks.acquire(keys.chain(others).map(|hash| (hash, LockMode::Exclusive)).collect())
    }

    /// Returns an error if a key of the set was written by others after the set was begun. The caller holds the locks of
    /// [`Store::lock_set`] if the answer is to stay true.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Error, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// store.check_conflicts(&set)?;
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(matches!(store.check_conflicts(&set), Err(Error::Conflict)));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`]; [`Error::SnapshotTooOld`]; errors of reading.
    pub fn check_conflicts(&self, set: &WriteSet) -> Result<()> {
        self.reads.check_unchanged(set.base(), &set.batch)
    }

    /// As [`Store::check_conflicts`], for a batch that is to be added to the set.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.check_conflicts_of(&set, &batch)?; // reports a conflict before the commit
    /// set.add(&batch)?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::check_conflicts`].
    pub fn check_conflicts_of(&self, set: &WriteSet, batch: &WriteBatch) -> Result<()> {
        self.reads.check_unchanged(set.base(), batch)
    }
}

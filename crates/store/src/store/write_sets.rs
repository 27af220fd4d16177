//! Write sets, and their commit.

use super::Store;
use crate::batch::WriteBatch;
use crate::commit::Work;
use crate::error::{Error, Result};
use crate::keys::lock_hash;
use crate::locks::LockMode;
use crate::options::Durability;
use crate::trees::{PendingTrees, TreeId};
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
        let pending = PendingTrees::new(self.trees.clone());
        WriteSet::new(self.snapshot(), self.partitions(), self.claims.begin(), pending)
    }

    /// Commits a write set. Returns the number of its last operation, or the visible number if it has none.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another write of a key of the set was committed after the set was begun;
    /// [`Error::SnapshotTooOld`] if its snapshot was ended; as [`Store::write`]. After an error other than
    /// [`Error::OutcomeUnknown`] nothing was written.
    pub fn commit(&self, set: WriteSet, durability: Durability) -> Result<Seq> {
        self.commit_checked(set, durability, std::iter::empty(), || Ok(()))
    }

    /// As [`Store::commit`]. Locks other keys, too, and calls `check` under all locks; its error is returned, and
    /// nothing is written.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Error, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// let tom = [(pets, &b"tom"[..])];
    /// let no_tom = || if store.contains(pets, b"tom")? { Err(Error::Conflict) } else { Ok(()) };
    /// store.commit_checked(set, Durability::Periodic, tom, no_tom)?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::commit`]; those of `check`.
    pub fn commit_checked<'a, E: From<Error>>(
        &self,
        mut set: WriteSet,
        durability: Durability,
        others: impl IntoIterator<Item = (TreeId, &'a [u8])>,
        check: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Seq, E> {
        if set.is_empty() {
            return Ok(self.visible());
        }
        let change = set.pending.change.clone();
        let creates = !change.create.is_empty();
        let _schema = creates.then(|| self.schema.lock());
        let of_change = creates.then(|| self.batch_of(&change));
        let bytes = of_change.as_ref().map_or(0, WriteBatch::encoded_bytes);
        let _admitted = self.admit(set.batch.encoded_bytes() + bytes)?;
        let keys = set.batch.ops.iter().map(|op| {
            let mode = if op.alike { LockMode::Shared } else { LockMode::Exclusive };
            (op.hash, mode)
        });
        let others = others.into_iter().map(|(tree, key)| lock_hash(tree.0, alluvium_codec::hash64(key)));
        let _locks = self.locks.acquire(keys.chain(others.map(|hash| (hash, LockMode::Exclusive))).collect());
        self.check_conflicts(&set)?;
        check()?;
        let empty = self.batch();
        let mut batch = std::mem::replace(&mut set.batch, empty);
        match of_change {
            // The creation of trees is noted before what is written to them.
            Some(mut noted) if noted.stamped => {
                noted.append(&batch);
                batch = noted;
            }
            Some(of_change) => batch.append(&of_change),
            None => {}
        }
        Ok(self.commit.commit(Work::Batch(batch, creates.then(|| Box::new(change))), durability)?)
    }

    /// True if an open write set has written a key. Costs one atomic load.
    #[inline]
    pub fn has_write_sets(&self) -> bool {
        self.claims.any()
    }

    /// The number of an open write set that has written one of these keys.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// assert_eq!(store.claimed_by([(pets, &b"rex"[..])]), Some(set.number()));
    /// assert_eq!(store.claimed_by([(pets, &b"tom"[..])]), None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn claimed_by<'a>(&self, keys: impl IntoIterator<Item = (TreeId, &'a [u8])>) -> Option<u64> {
        let hashes = keys.into_iter().map(|(tree, key)| lock_hash(tree.0, alluvium_codec::hash64(key)));
        self.claims.owner(hashes)
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
        let goes_on = || self.health.check_open().is_ok() && goes_on();
        self.claims.wait(hashes, &goes_on).map_err(|error| self.health.check_open().err().unwrap_or(error))
    }

    /// Returns an error if a key of the set was written by others after the set was begun.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Error, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.check_conflicts(&set)?;
    /// store.write(batch.clone(), Durability::Periodic)?; // Another writer comes first.
    /// set.add(&batch)?;
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

//! Writing: batches, and the locks on their keys.

use super::Store;
use crate::admission::Admitted;
use crate::batch::WriteBatch;
use crate::commit::Work;
use crate::error::Result;
use crate::keys::lock_hash;
use crate::locks::{LockGuard, LockMode};
use crate::options::Durability;
use crate::trees::TreeId;
use alluvium_codec::entry::Seq;

impl Store {
    /// Writes a batch whose operations do not depend on reads. Takes shared locks on its keys.
    ///
    /// Returns the number of the last operation. When this returns, every read sees the batch.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"tom");
    /// let last = store.write(batch, Durability::Sync)?;
    /// assert_eq!(store.visible(), last);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::BatchTooLarge`], [`crate::Error::NoSuchTree`], [`crate::Error::NoSpace`],
    /// [`crate::Error::Poisoned`]; after these, nothing was written. [`crate::Error::OutcomeUnknown`] if the log failed
    /// during the write. [`crate::Error::Claimed`] if a write set has written one of its keys, and does not end.
    pub fn write(&self, batch: WriteBatch, durability: Durability) -> Result<Seq> {
        let goes_on = || self.health.check_open().is_ok();
        self.claims.wait(batch.contested(), &goes_on)?;
        let _admitted = self.admit_batch(batch.encoded_bytes())?;
        let keys = batch.ops.iter().map(|op| (op.hash, LockMode::Shared)).collect();
        let _locks = self.locks.acquire(keys);
        self.commit.commit(Work::Batch(batch, None), durability)
    }

    /// Removes the keys of a tree from `from` to below `to`; see [`WriteBatch::delete_range`].
    ///
    /// ```
    /// # fn main() -> alluvium_store::Result<()> {
    /// use alluvium_store::{Durability, Options, Store};
    /// let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let tree = store.create_trees(&[b"events"])?[0];
    /// let mut batch = store.batch();
    /// for day in ["2026-01-01", "2026-01-02", "2026-02-01"] {
    ///     batch.put(tree, day.as_bytes(), b"...");
    /// }
    /// store.write(batch, Durability::Periodic)?;
    /// store.delete_range(tree, b"2026-01", b"2026-02", Durability::Periodic)?;
    /// assert!(!store.contains(tree, b"2026-01-02")?);
    /// assert!(store.contains(tree, b"2026-02-01")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn delete_range(&self, tree: TreeId, from: &[u8], to: &[u8], durability: Durability) -> Result<Seq> {
        let mut batch = self.batch();
        batch.delete_range(tree, from, to);
        self.write(batch, durability)
    }

    /// Admits a write of about `bytes`: waits as long as the debt of background work demands, and reserves the memory.
    /// For callers of [`Store::write_locked`], which keep the reservation until the write has ended. A thread that
    /// holds locks must not call this.
    ///
    /// ```
    /// # use alluvium_store::{Durability, LockMode, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let admitted = store.admit(1000)?; // before any lock
    /// let locks = store.lock(pets, [&b"rex"[..]], LockMode::Exclusive);
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write_locked(batch, Durability::Periodic, &locks)?;
    /// drop((locks, admitted));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn admit(&self, bytes: usize) -> Result<Admitted<'_>> {
        self.health.check_open()?;
        self.admit_batch(bytes)
    }

    /// Admits a batch of `bytes`: waits as long as the debt demands, and reserves its memory.
    pub(super) fn admit_batch(&self, bytes: usize) -> Result<Admitted<'_>> {
        self.health.check_takes_writes()?;
        let admission = &*self.admission;
        if self.options.background {
            return admission.admit(bytes);
        }
        admission.check_size(bytes)?;
        if !self.wal.is_short()
            && let Some(admitted) = admission.try_admit(bytes)
        {
            return Ok(admitted);
        }
        self.upkeep.work_off()?;
        Ok(admission.reserve(bytes))
    }

    /// Writes a batch after [`Store::admit`]. The caller holds the locks of its keys.
    ///
    /// ```
    /// # use alluvium_store::{Durability, LockMode, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let locks = store.lock(pets, [&b"rex"[..]], LockMode::Exclusive);
    /// if !store.contains(pets, b"rex")? {
    ///     let mut batch = store.batch();
    ///     batch.put(pets, b"rex", b"dog");
    ///     store.write_locked(batch, Durability::Sync, &locks)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_locked(&self, batch: WriteBatch, durability: Durability, _locks: &LockGuard) -> Result<Seq> {
        self.commit.commit(Work::Batch(batch, None), durability)
    }

    /// Locks keys of a tree, waiting as needed. All keys of a write must be locked in one call.
    ///
    /// ```
    /// # use alluvium_store::{LockMode, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let locks = store.lock(pets, [&b"rex"[..], b"tom"], LockMode::Exclusive);
    /// // No other thread writes these keys until it is dropped.
    /// drop(locks);
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock<'a>(&self, tree: TreeId, keys: impl IntoIterator<Item = &'a [u8]>, mode: LockMode) -> LockGuard {
        let wanted = keys.into_iter().map(|k| (lock_hash(tree.0, alluvium_codec::hash64(k)), mode));
        self.locks.acquire(wanted.collect())
    }

    /// Locks keys of several trees, as [`Store::lock`].
    ///
    /// ```
    /// # use alluvium_store::{LockMode, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let keys = [(pets, &b"rex"[..], LockMode::Exclusive), (pets, &b"tom"[..], LockMode::Shared)];
    /// let locks = store.lock_all(keys);
    /// drop(locks);
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock_all<'a>(&self, keys: impl IntoIterator<Item = (TreeId, &'a [u8], LockMode)>) -> LockGuard {
        let wanted = keys.into_iter().map(|(t, k, m)| (lock_hash(t.0, alluvium_codec::hash64(k)), m));
        self.locks.acquire(wanted.collect())
    }

    /// The size of a batch in bytes above which divisible work should be written in several batches.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.batch_bytes() <= store.max_batch_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch_bytes(&self) -> usize {
        self.options.batch_bytes()
    }

    /// The largest batch that the memory budget allows, in bytes. It is 35 MiB or more, so that any document of
    /// MongoDB's greatest size fits.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// assert!(store.batch().encoded_bytes() < store.max_batch_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_batch_bytes(&self) -> usize {
        self.options.max_batch_bytes()
    }
}

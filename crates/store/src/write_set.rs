//! Write sets: writes over a snapshot that only their owner sees, until they are committed as one batch.

use crate::batch::WriteBatch;
use crate::claims::Claimed;
use crate::error::{Error, Result};
use crate::keys::lock_hash;
use crate::trees::{PendingTrees, TreeId};
use crate::uncommitted::{SeenWrites, UncommittedWrites};
use crate::visibility::Snapshot;
use alluvium_codec::entry::Seq;
use alluvium_lsm::FIRST_UNCOMMITTED;
use std::sync::Arc;

/// Writes over a snapshot that are not committed yet. Reads at [`WriteSet::snapshot`] see them, other reads do not.
///
/// The writes become visible together, as one batch, when [`crate::Store::commit`] finds that no key of the set was written by
/// others after the snapshot: snapshot isolation, in which the first committer wins. A write set that is dropped leaves
/// nothing.
///
/// ```
/// use alluvium_store::{Durability, Error, Options, Store};
/// let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
/// let pets = store.create_trees(&[b"pets"])?[0];
/// let (mut first, mut second) = (store.write_set(), store.write_set());
/// let mut batch = store.batch();
/// batch.put(pets, b"rex", b"dog");
/// first.add(&batch)?;
/// let mut value = Vec::new();
/// assert!(store.get_at(&first.snapshot(), pets, b"rex", &mut value)? && value == b"dog");
/// assert!(!store.contains(pets, b"rex")?);
///
/// assert!(matches!(second.add(&batch), Err(Error::Conflict)));
///
/// store.commit(first, Durability::Periodic)?;
/// second.add(&batch)?; // The key is free, and a commit would overwrite what the set has not seen.
/// assert!(matches!(store.commit(second, Durability::Periodic), Err(Error::Conflict)));
/// assert!(store.get(pets, b"rex", &mut value)? && value == b"dog");
/// # alluvium_store::Result::Ok(())
/// ```
pub struct WriteSet {
    base: Snapshot,
    writes: Arc<UncommittedWrites>,
    pub(crate) batch: WriteBatch,
    claimed: Claimed,
    pub(crate) pending: PendingTrees,
}

impl WriteSet {
    /// An empty set over a snapshot of a store with this number of partitions.
    pub(crate) fn new(base: Snapshot, partitions: u32, claimed: Claimed, pending: PendingTrees) -> Self {
        let writes = UncommittedWrites::new(partitions as usize);
        Self { base, writes, batch: WriteBatch::new(partitions), claimed, pending }
    }

    /// The number of the set, which no other set of the open store has.
    pub fn number(&self) -> u64 {
        self.claimed.number()
    }

    /// The state that the set was begun over, without its writes.
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// The state that the set was begun over, under the writes so far. It does not see later writes of the set.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// let before = set.snapshot();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// let mut value = Vec::new();
    /// assert!(!store.get_at(&before, pets, b"rex", &mut value)?);
    /// assert!(store.get_at(&set.snapshot(), pets, b"rex", &mut value)?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        if self.batch.is_empty() {
            return self.base.clone();
        }
        let last = FIRST_UNCOMMITTED + self.batch.len() as Seq - 1;
        self.base.under(SeenWrites { writes: self.writes.clone(), last })
    }

    /// Adds the operations of a batch, after those that were added before, and claims their keys: until the set ends,
    /// other sets that write them are refused, and plain writes of them wait.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut set = store.write_set();
    /// for kind in [b"dog", b"cat"] {
    ///     let mut batch = store.batch();
    ///     batch.put(pets, b"rex", kind);
    ///     set.add(&batch)?;
    /// }
    /// let mut value = Vec::new();
    /// assert!(store.get_at(&set.snapshot(), pets, b"rex", &mut value)? && value == b"cat");
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another set has claimed a key of the batch; nothing was added. [`Error::InvalidOption`] if
    /// the batch deletes a range of keys: a write set deletes each key by itself, because
    /// the conflicts of keys that it does not know would remain unseen.
    pub fn add(&mut self, batch: &WriteBatch) -> Result<()> {
        if batch.ranges {
            return Err(Error::InvalidOption { name: "a write set", must_be: "without deletes of ranges" });
        }
        if !self.claimed.claim(batch.contested()) {
            return Err(Error::Conflict);
        }
        let first = FIRST_UNCOMMITTED + self.batch.len() as Seq;
        for partition in batch.touched() {
            // The numbers of stamped entries are not known yet.
            let entries = batch.numbered(&batch.bytes, first).unstamped_entries(partition);
            self.writes.memtable(partition).apply_some_ordered(entries);
        }
        self.batch.append(batch);
        Ok(())
    }

    /// The operations so far.
    pub fn batch(&self) -> &WriteBatch {
        &self.batch
    }

    /// Claims a key that the set does not write, so that no other set writes or claims it.
    ///
    /// ```
    /// # use alluvium_store::{Error, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let (mut first, mut second) = (store.write_set(), store.write_set());
    /// first.claim(pets, b"rex")?;
    /// assert!(matches!(second.claim(pets, b"rex"), Err(Error::Conflict)));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another set has claimed it.
    pub fn claim(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        let hash = lock_hash(tree.0, alluvium_codec::hash64(key));
        if self.claimed.claim(std::iter::once(hash)) { Ok(()) } else { Err(Error::Conflict) }
    }

    /// Adds trees to the set, as [`crate::Store::create_trees_with`]. The commit creates them; before it, only the set
    /// writes and reads them.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let mut set = store.write_set();
    /// let pets = set.create_trees_with(1, |_| vec![b"pets".to_vec()])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// set.add(&batch)?;
    /// assert!(store.trees().is_empty());
    /// store.commit(set, Durability::Periodic)?;
    /// assert!(store.trees() == [(pets, b"pets".to_vec())] && store.contains(pets, b"rex")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if all ids of trees were used.
    pub fn create_trees_with(
        &mut self,
        count: u32,
        describe: impl FnOnce(&[TreeId]) -> Vec<Vec<u8>>,
    ) -> Result<Vec<TreeId>> {
        self.pending.add(count, describe)
    }

    /// As [`WriteSet::create_trees_with`], for trees of index entries: see [`crate::WriteBatch::put_entry`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let mut set = store.write_set();
    /// let pets = set.create_trees_with(1, |_| vec![b"pets".to_vec()])?[0];
    /// let ages = set.create_indexes_with(1, |_| vec![b"ages of pets".to_vec()])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"3");
    /// batch.put_entry(ages, b"3rex", b"");
    /// set.add(&batch)?;
    /// store.commit(set, Durability::Periodic)?;
    /// assert!(store.contains(pets, b"rex")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`WriteSet::create_trees_with`].
    pub fn create_indexes_with(
        &mut self,
        count: u32,
        describe: impl FnOnce(&[TreeId]) -> Vec<Vec<u8>>,
    ) -> Result<Vec<TreeId>> {
        let ids = self.pending.add(count, describe)?;
        self.pending.change.indexes.extend(&ids);
        Ok(ids)
    }

    /// Adds a stamped entry of `tree` that notes the creation of trees by the set; see
    /// [`crate::WriteBatch::put_stamped`]. The entry is before all writes of the set, and has no effect in a set that
    /// creates no tree.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let create = |_: &[_]| TreeChanges { create: vec![b"history".to_vec()], ..TreeChanges::default() };
    /// # let history = store.change_trees(1, create)?[0];
    /// let mut set = store.write_set();
    /// set.create_trees_with(1, |_| vec![b"pets".to_vec()])?;
    /// set.note_created(history, b"there are pets now");
    /// store.commit(set, Durability::Periodic)?;
    /// let mut scan = store.scan(history, Bounds::all(), None)?;
    /// assert_eq!(scan.next()?.map(|(_, value)| value), Some(&b"there are pets now"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn note_created(&mut self, tree: TreeId, value: &[u8]) {
        self.pending.change.stamped.push((tree, value.to_vec()));
    }

    /// Replaces the description of a tree that the set is to create. Has no effect on other trees.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let mut set = store.write_set();
    /// let pets = set.create_trees_with(1, |_| vec![b"pets".to_vec()])?[0];
    /// set.describe_tree(pets, b"pets, with arrays".to_vec());
    /// store.commit(set, Durability::Periodic)?;
    /// assert_eq!(store.description(pets).as_deref(), Some(&b"pets, with arrays"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn describe_tree(&mut self, tree: TreeId, description: Vec<u8>) {
        if let Some((_, known)) = self.pending.change.create.iter_mut().find(|(id, _)| *id == tree) {
            *known = description;
        }
    }

    /// True if the set writes and creates nothing.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.pending.change.create.is_empty()
    }

    /// The memory that the set holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let noted: usize = self.pending.change.stamped.iter().map(|(_, value)| value.len()).sum();
        self.writes.memory_bytes() + self.batch.memory_bytes() + self.claimed.memory_bytes() + noted
    }
}

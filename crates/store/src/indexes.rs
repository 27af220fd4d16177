//! Trees of index entries, and what is asked of them: changes of several trees in one batch, and reads that tell
//! when a key was written.
//!
//! The entries of a document lie in its partition, whatever their own keys are, and have the numbers of the writes of
//! the document that they follow from ([`crate::WriteBatch::put_entry`]).

use crate::trees::SchemaChange;
use crate::{Result, Snapshot, Store, TreeId};
use alluvium_codec::entry::Seq;

/// What happens to trees in one batch.
#[derive(Debug, Clone, Default)]
pub struct TreeChanges {
    /// The descriptions of new trees of index entries, in the order of their ids.
    pub create: Vec<Vec<u8>>,
    /// Trees, and what is said of them from now on.
    pub describe: Vec<(TreeId, Vec<u8>)>,
    /// Trees that are dropped with all their keys.
    pub drop: Vec<TreeId>,
}

impl Store {
    /// Makes `indexes` trees of index entries, describes and drops others, all in one batch. `plan` is given the ids of
    /// the new ones. Returns them.
    ///
    /// ```
    /// # fn main() -> alluvium_store::Result<()> {
    /// use alluvium_store::{Durability, Options, Store, TreeChanges};
    /// let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// let pets = store.create_trees(&[b"pets"])?[0];
    /// let ages = store.change_trees(1, |ids| TreeChanges {
    ///     create: vec![b"ages of pets".to_vec()],
    ///     describe: vec![(pets, format!("pets, indexed by {}", ids[0].0).into_bytes())],
    ///     ..TreeChanges::default()
    /// })?[0];
    /// let mut batch = store.batch();
    /// batch.expect_schema(pets, store.schema(pets));
    /// batch.put(pets, b"rex", b"3");
    /// batch.put_entry(ages, b"3rex", b"");
    /// store.write(batch, Durability::Periodic)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`]; [`crate::Error::NoSuchTree`] if one of those described or dropped was dropped.
    pub fn change_trees(&self, indexes: u32, plan: impl FnOnce(&[TreeId]) -> TreeChanges) -> Result<Vec<TreeId>> {
        let _schema = self.inner.schema.lock();
        let ids = self.inner.trees.allocate(indexes)?;
        let TreeChanges { create, describe, drop } = plan(&ids);
        let named = describe.iter().map(|(id, _)| id).chain(&drop);
        self.inner.trees.check_live(&named.map(|id| id.0).collect::<Vec<_>>())?;
        let dropping = !drop.is_empty();
        let create = ids.iter().copied().zip(create).collect();
        self.change_schema(SchemaChange { create, indexes: ids.clone(), describe, drop, ..SchemaChange::default() })?;
        if dropping {
            self.inner.workers.signal();
        }
        Ok(ids)
    }

    /// The number of the last change of a tree's description since the store was opened; 0 if there was none. For
    /// [`crate::WriteBatch::expect_schema`].
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.schema(pets);
    /// store.describe_trees(&[(pets, b"pets, but otherwise")])?;
    /// assert!(store.schema(pets) > before);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn schema(&self, tree: TreeId) -> Seq {
        self.inner.trees.schema(tree)
    }

    /// Reads a key's value at a snapshot into `value`: the number of the operation that wrote it last, deltas too. `None`
    /// if there is no value.
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
        let inner = &*self.inner;
        inner.open_for_reads()?;
        inner.with_internal_key(tree, key, |internal, partition| {
            let view = inner.partitions[partition].view();
            inner.readable_at(tree, snapshot)?;
            let found = inner.read(view.get_numbered(internal, snapshot.seq(), value))?;
            if view.needs_snapshot() {
                snapshot.check()?;
            }
            Ok(found.map(|(seq, _)| seq))
        })
    }
}

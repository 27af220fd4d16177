//! The trees of a store: creation, description and removal.

use super::Store;
use crate::batch::WriteBatch;
use crate::commit::Work;
use crate::error::Result;
use crate::trees::{NEXT_KEY, SYSTEM, SchemaChange, TreeId, described_tree, index_key, multivalue_key, tree_key};
use crate::visibility::Snapshot;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::Seq;

/// Changes of trees in one batch.
#[derive(Debug, Clone, Default)]
pub struct TreeChanges {
    /// The descriptions of new trees of index entries, in the order of their ids.
    pub create: Vec<Vec<u8>>,
    /// Trees, and their new descriptions.
    pub describe: Vec<(TreeId, Vec<u8>)>,
    /// Trees that are dropped with all their keys.
    pub drop: Vec<TreeId>,
    /// Trees, each with the value of a stamped entry in it that notes the change; see
    /// [`crate::WriteBatch::put_stamped`]. Their numbers are in this order.
    pub stamped: Vec<(TreeId, Vec<u8>)>,
}

impl Store {
    /// Creates trees, one for each description. Their ids were never used before.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// let trees = store.create_trees(&[b"cats", b"dogs"])?; // both or none
    /// assert_eq!(store.description(trees[1]), Some(b"dogs".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_trees(&self, descriptions: &[&[u8]]) -> Result<Vec<TreeId>> {
        let count = descriptions.len() as u32;
        self.create_trees_with(count, |_| descriptions.iter().map(|d| d.to_vec()).collect())
    }

    /// Creates `count` trees in one batch. `describe` gets their ids, so that a description can contain the id of
    /// another tree.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// // The second tree's description names the first.
    /// let trees = store.create_trees_with(2, |ids| vec![b"shapes".to_vec(), ids[0].0.to_string().into_bytes()])?;
    /// assert_eq!(store.description(trees[1]), Some(trees[0].0.to_string().into_bytes()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_trees_with(
        &self,
        count: u32,
        describe: impl FnOnce(&[TreeId]) -> Vec<Vec<u8>>,
    ) -> Result<Vec<TreeId>> {
        self.create_noted_trees(count, |ids| (describe(ids), Vec::new()))
    }

    /// As [`Store::create_trees_with`]. `describe` also returns stamped entries that note the creation, as
    /// [`TreeChanges::stamped`].
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let create = |_: &[_]| TreeChanges { create: vec![b"history".to_vec()], ..TreeChanges::default() };
    /// # let history = store.change_trees(1, create)?[0];
    /// store.create_noted_trees(1, |_| (vec![b"pets".to_vec()], vec![(history, b"there are pets now".to_vec())]))?;
    /// let mut scan = store.scan(history, Bounds::all(), None)?;
    /// assert_eq!(scan.next()?.map(|(_, value)| value), Some(&b"there are pets now"[..]));
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_noted_trees(
        &self,
        count: u32,
        describe: impl FnOnce(&[TreeId]) -> (Vec<Vec<u8>>, Vec<(TreeId, Vec<u8>)>),
    ) -> Result<Vec<TreeId>> {
        let _schema = self.schema.lock();
        let ids = self.trees.allocate(count)?;
        let (descriptions, stamped) = describe(&ids);
        let create = ids.iter().copied().zip(descriptions).collect();
        self.change_schema(SchemaChange { create, stamped, ..SchemaChange::default() })?;
        Ok(ids)
    }

    /// Creates a tree that holds many sorted values under each key; see [`Store::multivalue`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let by_owner = store.create_multivalue_tree(b"pets by owner")?;
    /// store.multivalue(by_owner)?.put(b"ada", b"rex", Durability::Periodic)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn create_multivalue_tree(&self, description: &[u8]) -> Result<TreeId> {
        let _schema = self.schema.lock();
        let ids = self.trees.allocate(1)?;
        let create = vec![(ids[0], description.to_vec())];
        self.change_schema(SchemaChange { create, multivalue: ids.clone(), ..SchemaChange::default() })?;
        Ok(ids[0])
    }

    /// Creates `indexes` trees of index entries, and describes and drops other trees, all in one batch. `plan` gets the
    /// ids of the new trees, which are also returned.
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
    /// As [`Store::write`]; [`crate::Error::NoSuchTree`] if a tree to be described or dropped does
    /// not exist.
    pub fn change_trees(&self, indexes: u32, plan: impl FnOnce(&[TreeId]) -> TreeChanges) -> Result<Vec<TreeId>> {
        let _schema = self.schema.lock();
        let ids = self.trees.allocate(indexes)?;
        let TreeChanges { create, describe, drop, stamped } = plan(&ids);
        let named = describe.iter().map(|(id, _)| id).chain(&drop);
        self.trees.check_live(&named.map(|id| id.0).collect::<Vec<_>>(), &[])?;
        let dropping = !drop.is_empty();
        let create = ids.iter().copied().zip(create).collect();
        let change = SchemaChange { create, indexes: ids.clone(), describe, drop, stamped, ..SchemaChange::default() };
        self.change_schema(change)?;
        if dropping {
            self.work.signal();
        }
        Ok(ids)
    }

    /// The number of the last change of a tree's description since the store was opened; 0 if there
    /// was none. For [`crate::WriteBatch::expect_schema`].
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.schema(pets);
    /// store.describe_trees(&[(pets, b"pets, changed")])?;
    /// assert!(store.schema(pets) > before);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn schema(&self, tree: TreeId) -> Seq {
        self.trees.schema(tree)
    }

    /// Replaces the description of trees.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// store.describe_trees(&[(pets, b"animals")])?;
    /// assert_eq!(store.description(pets), Some(b"animals".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`]; [`Error::NoSuchTree`] if one of the trees was dropped.
    pub fn describe_trees(&self, trees: &[(TreeId, &[u8])]) -> Result<()> {
        let _schema = self.schema.lock();
        self.trees.check_live(&trees.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), &[])?;
        let describe = trees.iter().map(|(id, d)| (*id, d.to_vec())).collect();
        self.change_schema(SchemaChange { describe, ..SchemaChange::default() })
    }

    /// Drops trees with all their keys. Readers that begin after this call do not see the trees; the space is freed in
    /// the background.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// store.drop_trees(&[pets])?;
    /// assert!(store.trees().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::write`]; [`Error::NoSuchTree`] if one of the trees was dropped already.
    pub fn drop_trees(&self, trees: &[TreeId]) -> Result<()> {
        let _schema = self.schema.lock();
        self.trees.check_live(&trees.iter().map(|id| id.0).collect::<Vec<_>>(), &[])?;
        self.change_schema(SchemaChange { drop: trees.to_vec(), ..SchemaChange::default() })?;
        self.work.signal();
        Ok(())
    }

    /// The trees and their descriptions, by id.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// assert_eq!(store.trees(), [(pets, b"pets".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn trees(&self) -> Vec<(TreeId, Vec<u8>)> {
        self.trees.live()
    }

    /// The trees and their descriptions at a snapshot, by id.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let before = store.snapshot();
    /// store.drop_trees(&[pets])?;
    /// assert_eq!(store.trees_at(&before)?, [(pets, b"pets".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::scan`].
    pub fn trees_at(&self, snapshot: &Snapshot) -> Result<Vec<(TreeId, Vec<u8>)>> {
        let mut scan = self.scan(SYSTEM, Bounds::all(), Some(snapshot))?;
        let mut trees = Vec::new();
        while let Some((key, description)) = scan.next()? {
            trees.extend(described_tree(key).map(|id| (id, description.to_vec())));
        }
        Ok(trees)
    }

    /// The description of a tree; `None` if the tree was dropped.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # fn main() -> alluvium_store::Result<()> {
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// assert_eq!(store.description(pets), Some(b"pets".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn description(&self, tree: TreeId) -> Option<Vec<u8>> {
        self.trees.description(tree)
    }

    fn change_schema(&self, change: SchemaChange) -> Result<()> {
        let batch = self.batch_of(&change);
        let _admitted = self.admit_batch(batch.encoded_bytes())?;
        self.commit.commit(Work::Batch(batch, Some(Box::new(change))), self.options.durability)?;
        Ok(())
    }

    /// The batch that writes a change of the registry. The caller holds the lock of the schema until it is committed, so
    /// that the next id only rises.
    pub(super) fn batch_of(&self, change: &SchemaChange) -> WriteBatch {
        let mut batch = self.batch();
        for (id, description) in change.create.iter().chain(&change.describe) {
            batch.put(SYSTEM, &tree_key(*id), description);
        }
        for id in &change.multivalue {
            batch.put(SYSTEM, &multivalue_key(*id), &[]);
        }
        for id in &change.indexes {
            batch.put(SYSTEM, &index_key(*id), &[]);
        }
        for id in &change.drop {
            batch.delete(SYSTEM, &tree_key(*id));
            if self.trees.is_index(*id) {
                batch.delete(SYSTEM, &index_key(*id));
            }
            if self.trees.is_multivalue(*id) {
                batch.delete(SYSTEM, &multivalue_key(*id));
            }
        }
        let next = self.trees.next().to_le_bytes();
        batch.put(SYSTEM, NEXT_KEY, &next);
        for (at, (tree, value)) in change.stamped.iter().enumerate() {
            if at > 0 {
                // Each stamped entry needs a number of its own.
                batch.put(SYSTEM, NEXT_KEY, &next);
            }
            batch.put_stamped(*tree, &[], value);
        }
        batch
    }
}

//! Which indexes a collection has: made, made ready, dropped. Every change gives the collection's tree of documents
//! a new schema number, so that batches made before it are sent back.

use super::{Catalog, Entry};
use crate::error::{Error, Result};
use crate::index::{Index, IndexSet};
use crate::names::FullName;
use crate::trees::describe_documents;
use alluvium_env::sync::RwLockReadGuard;
use alluvium_query::index::Definition;
use alluvium_store::{Seq, TreeChanges, TreeId};
use std::sync::Arc;

/// The most indexes of a collection, that on `_id` included: MongoDB's limit.
const MAX_INDEXES: usize = 64;

impl Catalog {
    /// Returns when no change of names or indexes is under way: what a batch was refused for can be seen then.
    ///
    /// An error if the store takes no writes any more: where a change of trees has an unknown outcome, they and the catalog
    /// differ for good, and whoever tried again would do so for ever.
    pub fn settle(&self) -> Result<()> {
        drop(self.change.lock());
        Ok(self.store.check_writable()?)
    }

    /// As long as it is held no index comes or goes: what was made under the indexes of now is not sent back. Whoever holds
    /// it must not wait for [`Catalog::settle`].
    pub fn hold_indexes(&self) -> RwLockReadGuard<'_, ()> {
        self.loads.read()
    }

    /// Adds an index, to be built; that which is there if it is the same. True if it was added.
    pub fn add_index(&self, name: &FullName, definition: Definition) -> Result<(Arc<Index>, bool)> {
        let _change = self.change.lock();
        let _indexes = self.loads.write();
        self.store.check_writable()?;
        let mut entry = self.entry(name)?;
        if let Some(same) = like(&entry.indexes, &definition)? {
            return Ok((same, false));
        }
        if entry.indexes.indexes.len() + 1 >= MAX_INDEXES {
            let what = format!("collection {name} has {} indexes: {MAX_INDEXES} are the limit", MAX_INDEXES);
            return Err(Error::Index(alluvium_query::index::IndexError::CannotCreateIndex(what)));
        }
        let mut index = Index {
            tree: TreeId(0),
            definition: Arc::new(definition),
            ready: None,
            multikey: Arc::default(),
            built: Vec::new(),
            built_to: None,
            building: Arc::default(),
            usage: Arc::default(),
            swept: Arc::default(),
        };
        let documents = (entry.documents, describe_documents(name, entry.system));
        let trees = self.store.change_trees(1, |ids| {
            index.tree = ids[0];
            TreeChanges {
                create: vec![index.describe(documents.0)],
                describe: vec![documents],
                ..TreeChanges::default()
            }
        })?;
        debug_assert_eq!(trees, [index.tree]);
        let index = Arc::new(index);
        let mut indexes = entry.indexes.indexes.clone();
        indexes.push(index.clone());
        self.set_indexes(name, &mut entry, indexes);
        Ok((index, true))
    }

    /// Replaces what is known of an index that is being built: `change` is given a copy. Batches that were made before are
    /// sent back. An error if it was dropped.
    pub fn update_index(&self, name: &FullName, tree: TreeId, change: impl FnOnce(&mut Index)) -> Result<Arc<Index>> {
        let _change = self.change.lock();
        let _indexes = self.loads.write();
        self.replace_index(name, tree, true, change)
    }

    /// Writes down how far the partition is built that is being built: its entries up to this key are durable. An error if the
    /// index was dropped.
    pub fn note_build(&self, name: &FullName, tree: TreeId, to: (u32, Vec<u8>)) -> Result<()> {
        let _change = self.change.lock();
        self.replace_index(name, tree, false, |index| index.built_to = Some(to)).map(drop)
    }

    /// As [`Catalog::update_index`], called under `change`; without `new_schema`, no batch is sent back.
    fn replace_index(
        &self,
        name: &FullName,
        tree: TreeId,
        new_schema: bool,
        change: impl FnOnce(&mut Index),
    ) -> Result<Arc<Index>> {
        let mut entry = self.entry(name)?;
        let mut indexes = entry.indexes.indexes.clone();
        let Some(at) = indexes.iter().position(|index| index.tree == tree) else {
            return Err(Error::NoSuchIndex { collection: name.to_string(), index: format!("tree {}", tree.0) });
        };
        let mut index = (*indexes[at]).clone();
        change(&mut index);
        // Marks of arrays are made under the same lock: none is lost.
        let open = entry.open.clone();
        let _marks = open.as_ref().map(|open| open.index_change.lock());
        let mut describe = vec![(tree, index.describe(entry.documents))];
        if new_schema {
            describe.insert(0, (entry.documents, describe_documents(name, entry.system)));
        }
        self.store.change_trees(0, |_| TreeChanges { describe, ..TreeChanges::default() })?;
        let index = Arc::new(index);
        indexes[at] = index.clone();
        self.set_indexes(name, &mut entry, indexes);
        Ok(index)
    }

    /// Drops the index with this name, or all of them (`None`).
    pub fn drop_indexes(&self, name: &FullName, index: Option<&str>) -> Result<()> {
        let goes = |known: &Index| index.is_none_or(|index| known.definition.name() == index);
        match (self.drop_where(name, goes)?, index) {
            (0, Some(index)) => Err(Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Drops the index with this tree, if it is there still.
    pub fn drop_tree(&self, name: &FullName, tree: TreeId) -> Result<()> {
        self.drop_where(name, |index| index.tree == tree).map(drop)
    }

    /// Drops indexes, and returns how many.
    fn drop_where(&self, name: &FullName, goes: impl Fn(&Index) -> bool) -> Result<usize> {
        let _change = self.change.lock();
        let _indexes = self.loads.write();
        self.store.check_writable()?;
        let mut entry = self.entry(name)?;
        let all = entry.indexes.indexes.iter().cloned();
        let (dropped, left): (Vec<_>, Vec<_>) = all.partition(|index| goes(index));
        if dropped.is_empty() {
            return Ok(0);
        }
        let describe = vec![(entry.documents, describe_documents(name, entry.system))];
        let drop = dropped.iter().map(|index| index.tree).collect();
        let changed = self.store.change_trees(0, |_| TreeChanges { describe, drop, ..TreeChanges::default() });
        // Also if nobody knows whether it is durable: reads go on, and no index that is gone may answer them.
        if changed.is_ok() || dropped.iter().any(|index| self.store.description(index.tree).is_none()) {
            self.set_indexes(name, &mut entry, left);
        }
        changed?;
        Ok(dropped.len())
    }

    /// The indexes that are not ready, with their collections.
    pub fn unfinished_indexes(&self) -> Vec<(FullName, Arc<Index>)> {
        self.indexes_where(|index| index.ready.is_none())
    }

    /// The indexes that are ready, with their collections.
    pub fn ready_indexes(&self) -> Vec<(FullName, Arc<Index>)> {
        self.indexes_where(|index| index.ready.is_some())
    }

    /// The collection that has the index with this tree.
    pub fn holder_of(&self, tree: TreeId) -> Option<FullName> {
        let names = self.names.read();
        let has = |entry: &Entry| entry.indexes.indexes.iter().any(|index| index.tree == tree);
        names.iter().find(|(_, entry)| has(entry)).map(|(name, _)| name.clone())
    }

    fn indexes_where(&self, wanted: impl Fn(&Index) -> bool) -> Vec<(FullName, Arc<Index>)> {
        let names = self.names.read();
        let all = names.iter().flat_map(|(name, entry)| entry.indexes.indexes.iter().map(move |index| (name, index)));
        all.filter(|(_, index)| wanted(index)).map(|(name, index)| (name.clone(), index.clone())).collect()
    }

    fn entry(&self, name: &FullName) -> Result<Entry> {
        let entry = self.names.read().get(name).cloned();
        entry.ok_or_else(|| self.missing(name))
    }

    /// Called under `change`, so that nobody else has changed the entry meanwhile but to open the collection.
    fn set_indexes(&self, name: &FullName, entry: &mut Entry, indexes: Vec<Arc<Index>>) {
        let schema: Seq = self.store.schema(entry.documents);
        if let Some(entry) = self.names.write().get_mut(name) {
            entry.set_indexes(IndexSet { schema, indexes });
        }
    }
}

/// The index that is the same as `wanted`; an error if one is nearly so, by MongoDB's rules.
fn like(set: &IndexSet, wanted: &Definition) -> Result<Option<Arc<Index>>> {
    for index in &set.indexes {
        let known = &*index.definition;
        if known == wanted {
            return Ok(Some(index.clone()));
        }
        // Those that differ in any of this may stand beside each other.
        let same = known.has_keys_of(wanted)
            && known.partial_filter() == wanted.partial_filter()
            && known.is_unique() == wanted.is_unique()
            && known.is_sparse() == wanted.is_sparse();
        let name = known.name();
        let (code, what) = match (name == wanted.name(), same) {
            (true, true) => (85, format!("there is an index {name} with other options: drop it first")),
            (true, false) => {
                let what = match known.has_keys_of(wanted) {
                    true => "of these keys, but of other documents or with other rules (unique, sparse, partial)",
                    false => "over other keys",
                };
                let what = format!("{what}: drop it first, or choose another name");
                (86, format!("there is an index {name} {what}"))
            }
            (false, true) => (85, format!("the index {name} has the same keys: drop it first")),
            (false, false) => continue,
        };
        return Err(Error::IndexConflict { code, what });
    }
    Ok(None)
}

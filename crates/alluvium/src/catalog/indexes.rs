//! Which indexes a collection has: made, made ready, dropped. Every change gives the collection's tree of documents
//! a new schema number, so that batches made before it are sent back.

use super::{Catalog, Entry, describe_documents};
use crate::index::{Index, IndexSet};
use crate::names::FullName;
use crate::{Error, Result};
use query::index::Definition;
use std::sync::Arc;
use store::{Seq, Store, TreeChanges, TreeId};

/// The most indexes of a collection, that on `_id` included: MongoDB's limit.
const MAX_INDEXES: usize = 64;

impl Catalog {
    /// Returns when no change of names or indexes is under way: what a batch was refused for can be seen then.
    pub fn settle(&self) {
        drop(self.change.lock());
    }

    /// Adds an index, to be built; that which is there if it is the same. True if it was added.
    pub fn add_index(&self, store: &Store, name: &FullName, definition: Definition) -> Result<(Arc<Index>, bool)> {
        let _change = self.change.lock();
        store.check_open()?;
        let mut entry = self.entry(store, name)?;
        if let Some(same) = like(&entry.indexes, &definition)? {
            return Ok((same, false));
        }
        if entry.indexes.indexes.len() + 1 >= MAX_INDEXES {
            let what = format!("collection {name} has {} indexes: {MAX_INDEXES} are the limit", MAX_INDEXES);
            return Err(Error::Index(query::index::IndexError::CannotCreateIndex(what)));
        }
        let mut index = Index {
            tree: TreeId(0),
            definition: Arc::new(definition),
            ready: None,
            multikey: Arc::default(),
            built: Vec::new(),
        };
        let documents = (entry.documents, describe_documents(name, entry.system));
        let trees = store.change_trees(1, |ids| {
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
        self.set_indexes(store, name, &mut entry, indexes);
        Ok((index, true))
    }

    /// Replaces what is known of an index that is being built: `change` is given a copy. An error if it was dropped.
    pub fn update_index(
        &self,
        store: &Store,
        name: &FullName,
        tree: TreeId,
        change: impl FnOnce(&mut Index),
    ) -> Result<Arc<Index>> {
        let _change = self.change.lock();
        let mut entry = self.entry(store, name)?;
        let mut indexes = entry.indexes.indexes.clone();
        let Some(at) = indexes.iter().position(|index| index.tree == tree) else {
            return Err(Error::NoSuchIndex { collection: name.to_string(), index: format!("tree {}", tree.0) });
        };
        let mut index = (*indexes[at]).clone();
        change(&mut index);
        let documents = (entry.documents, describe_documents(name, entry.system));
        // Marks of arrays are made under the same lock: none is lost.
        let open = entry.open.clone();
        let _marks = open.as_ref().map(|open| open.index_change.lock());
        let described = (tree, index.describe(entry.documents));
        store.change_trees(0, |_| TreeChanges { describe: vec![documents, described], ..TreeChanges::default() })?;
        let index = Arc::new(index);
        indexes[at] = index.clone();
        self.set_indexes(store, name, &mut entry, indexes);
        Ok(index)
    }

    /// Drops the index with this name, or all of them (`None`).
    pub fn drop_indexes(&self, store: &Store, name: &FullName, index: Option<&str>) -> Result<()> {
        let _change = self.change.lock();
        let mut entry = self.entry(store, name)?;
        let goes = |known: &Arc<Index>| index.is_none_or(|index| known.definition.name() == index);
        let (dropped, left): (Vec<_>, Vec<_>) = entry.indexes.indexes.iter().cloned().partition(goes);
        if let (true, Some(index)) = (dropped.is_empty(), index) {
            return Err(Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() });
        }
        if dropped.is_empty() {
            return Ok(());
        }
        let describe = vec![(entry.documents, describe_documents(name, entry.system))];
        let drop = dropped.iter().map(|index| index.tree).collect();
        store.change_trees(0, |_| TreeChanges { describe, drop, ..TreeChanges::default() })?;
        self.set_indexes(store, name, &mut entry, left);
        Ok(())
    }

    /// The collections that have indexes that are not ready.
    pub fn unfinished_indexes(&self) -> Vec<(FullName, Arc<Index>)> {
        let names = self.names.read();
        let all = names.iter().flat_map(|(name, entry)| entry.indexes.indexes.iter().map(move |index| (name, index)));
        all.filter(|(_, index)| index.ready.is_none()).map(|(name, index)| (name.clone(), index.clone())).collect()
    }

    fn entry(&self, store: &Store, name: &FullName) -> Result<Entry> {
        let entry = self.names.read().get(name).cloned();
        entry.ok_or_else(|| self.missing(store, name))
    }

    /// Called under `change`, so that nobody else has changed the entry meanwhile but to open the collection.
    fn set_indexes(&self, store: &Store, name: &FullName, entry: &mut Entry, indexes: Vec<Arc<Index>>) {
        let schema: Seq = store.schema(entry.documents);
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
        if known.name() == wanted.name() {
            let what = format!(
                "there is an index {} over other keys or with other options: drop it first, or choose another name",
                known.name()
            );
            return Err(Error::IndexConflict { code: 86, what });
        }
        if known.has_keys_of(wanted) && known.partial_filter() == wanted.partial_filter() {
            let what = format!("the index {} has the same keys: drop it first", known.name());
            return Err(Error::IndexConflict { code: 85, what });
        }
    }
    Ok(None)
}

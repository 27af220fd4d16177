//! Adds the indexes of collections, marks them ready, and drops them. Every change gives the collection's tree of
//! documents a new schema number, so that the store refuses batches that were made before the change.

use super::noted::Notes;
use super::{Catalog, Entry};
use crate::error::{Error, Result};
use crate::history::Event;
use crate::index::{Index, IndexSet};
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::trees::describe_documents;
use alluvium_env::sync::RwLockReadGuard;
use alluvium_query::index::{Definition, IndexError, Unbuilt};
use alluvium_store::{Seq, TreeChanges, TreeId};
use std::sync::Arc;

/// The maximum number of indexes of a collection, the index on `_id` included: MongoDB's limit.
const MAX_INDEXES: usize = 64;

impl Catalog {
    /// Waits until no change of names or indexes is in progress. Afterwards, the caller sees the change that made the
    /// store refuse its batch.
    ///
    /// Returns an error if the store accepts no more writes. After a change of trees with an unknown outcome, the trees
    /// and the catalogue may differ until the database is reopened, so a caller that retries would never stop.
    pub fn settle(&self) -> Result<()> {
        drop(self.change.lock());
        Ok(self.store.check_writable()?)
    }

    /// Returns a guard. While the guard is held, no index is added or dropped, so a batch made under the current
    /// indexes is not refused. The holder must not call [`Catalog::settle`].
    pub fn hold_indexes(&self) -> RwLockReadGuard<'_, ()> {
        self.index_set_lock.read()
    }

    /// Adds an index, which is still to be built, and returns it and true. If the same index exists, returns the
    /// existing index and false.
    pub fn add_index(&self, name: &FullName, definition: Definition) -> Result<(Arc<Index>, bool)> {
        let _change = self.change.lock();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        let mut entry = self.entry(name)?;
        if let Some(same) = like(&entry.indexes, &definition)? {
            return Ok((same, false));
        }
        if entry.indexes.options.unbuilt.iter().any(|index| index.name() == definition.name()) {
            return Err(name_is_taken(definition.name()));
        }
        check_number(name, entry.indexes.indexes.len())?;
        let mut index = Index::declared(definition);
        let documents = (entry.documents, describe_documents(name, entry.system, &entry.indexes.options));
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

    /// Stores the definition of an index that is not built. Returns false if the same definition is stored already.
    pub fn add_unbuilt(&self, name: &FullName, index: &Unbuilt) -> Result<bool> {
        let set = self.require(name)?.indexes();
        if set.find(index.name()).is_some() {
            return Err(name_is_taken(index.name()));
        }
        if has_unbuilt(&set.options.unbuilt, index)? {
            return Ok(false);
        }
        let mut is_new = false;
        self.change_options(name, |options| {
            if options.unbuilt.iter().all(|known| known.name() != index.name()) {
                options.unbuilt.push(index.clone());
                is_new = true;
            }
        })?;
        Ok(is_new)
    }

    /// Removes the stored definition of an index that is not built; `None` removes all of them. Returns false if none
    /// was stored.
    pub fn drop_unbuilt(&self, name: &FullName, index: Option<&str>) -> Result<bool> {
        let is_meant = |known: &Unbuilt| index.is_none_or(|index| known.name() == index);
        if !self.require(name)?.indexes().options.unbuilt.iter().any(is_meant) {
            return Ok(false);
        }
        self.change_options(name, |options| options.unbuilt.retain(|known| !is_meant(known)))?;
        Ok(true)
    }

    /// Replaces an index, in one batch, by an empty index with the same definition, which is still to be built.
    pub fn renew_index(&self, name: &FullName, index: &str) -> Result<Arc<Index>> {
        let _change = self.change.lock();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        let mut entry = self.entry(name)?;
        let mut indexes = entry.indexes.indexes.clone();
        let Some(at) = indexes.iter().position(|known| known.definition.name() == index) else {
            return Err(Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() });
        };
        let former = indexes[at].tree;
        let stamped = self.noted_drops(name, &entry, &indexes[at..=at]);
        let mut index = Index::declared((*indexes[at].definition).clone());
        let documents = (entry.documents, describe_documents(name, entry.system, &entry.indexes.options));
        let changed = self.change_trees(1, |ids| {
            index.tree = ids[0];
            let create = vec![index.describe(documents.0)];
            TreeChanges { create, describe: vec![documents], drop: vec![former], stamped }
        });
        // As for a drop, also if the outcome is unknown.
        if changed.is_ok() || self.store.description(former).is_none() {
            indexes[at] = Arc::new(index);
            self.set_indexes(name, &mut entry, indexes.clone());
        }
        changed?;
        Ok(indexes[at].clone())
    }

    /// Applies `change` to a copy of an index that is being built, and replaces the index by the
    /// copy. The store refuses batches that were made before. An error if the index was dropped.
    pub fn update_index(&self, name: &FullName, tree: TreeId, change: impl FnOnce(&mut Index)) -> Result<Arc<Index>> {
        let _change = self.change.lock();
        let _indexes = self.index_set_lock.write();
        self.replace_index(name, tree, true, change)
    }

    /// Records the progress of a build within a partition: the entries of documents up to this key
    /// are durable. An error if the index was dropped.
    pub fn note_build(&self, name: &FullName, tree: TreeId, to: (u32, Vec<u8>)) -> Result<()> {
        let _change = self.change.lock();
        self.replace_index(name, tree, false, |index| index.built_to = Some(to)).map(drop)
    }

    /// As [`Catalog::update_index`]; the caller holds `change`. Without `new_schema`, no batch is
    /// refused.
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
        // Multikey bits are recorded under the same lock, so no bit is lost.
        let open = entry.open.clone();
        let _marks = open.as_ref().map(|open| open.index_change.lock());
        let mut describe = vec![(tree, index.describe(entry.documents))];
        if new_schema {
            describe.insert(0, (entry.documents, describe_documents(name, entry.system, &entry.indexes.options)));
        }
        let stamped = self.noted(entry.documents, name, || Event::of_index(&indexes[at], &index));
        self.change_trees(0, |_| TreeChanges { describe, stamped, ..TreeChanges::default() })?;
        let index = Arc::new(index);
        indexes[at] = index.clone();
        self.set_indexes(name, &mut entry, indexes);
        Ok(index)
    }

    /// Drops the index with this name; `None` drops all indexes.
    pub fn drop_indexes(&self, name: &FullName, index: Option<&str>) -> Result<()> {
        let is_meant = |known: &Index| index.is_none_or(|index| known.definition.name() == index);
        match (self.drop_where(name, is_meant)?, index) {
            (0, Some(index)) => Err(Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() }),
            _ => Ok(()),
        }
    }

    /// Drops the index with this tree, if it still exists.
    pub fn drop_tree(&self, name: &FullName, tree: TreeId) -> Result<()> {
        self.drop_where(name, |index| index.tree == tree).map(drop)
    }

    /// Drops the indexes that `is_meant` accepts, and returns their count.
    fn drop_where(&self, name: &FullName, is_meant: impl Fn(&Index) -> bool) -> Result<usize> {
        let _change = self.change.lock();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        let mut entry = self.entry(name)?;
        let all = entry.indexes.indexes.iter().cloned();
        let (dropped, kept): (Vec<_>, Vec<_>) = all.partition(|index| is_meant(index));
        if dropped.is_empty() {
            return Ok(0);
        }
        let describe = vec![(entry.documents, describe_documents(name, entry.system, &entry.indexes.options))];
        let drop = dropped.iter().map(|index| index.tree).collect();
        let stamped = self.noted_drops(name, &entry, &dropped);
        let changed = self.change_trees(0, |_| TreeChanges { describe, drop, stamped, ..TreeChanges::default() });
        // The indexes are removed also if the outcome is unknown, because reads continue and must not use an index
        // whose tree was dropped.
        if changed.is_ok() || dropped.iter().any(|index| self.store.description(index.tree).is_none()) {
            self.set_indexes(name, &mut entry, kept);
        }
        changed?;
        Ok(dropped.len())
    }

    /// The entries that note the drop of indexes, an entry for each. The creation of an index that is not ready is not
    /// noted yet.
    fn noted_drops(&self, name: &FullName, entry: &Entry, dropped: &[Arc<Index>]) -> Notes {
        let ready = dropped.iter().filter(|index| index.ready.is_some());
        self.noted(entry.documents, name, || {
            ready.map(|index| Event::index_dropped(index.definition.to_map())).collect()
        })
    }

    /// Changes the options of a collection; returns the new ones. The store refuses batches that were made before.
    pub fn change_options(
        &self,
        name: &FullName,
        change: impl FnOnce(&mut CollectionOptions),
    ) -> Result<Arc<CollectionOptions>> {
        self.change_options_if(name, |_| true, change)
    }

    /// Changes the options if the collection still has the options `set` and `is_meant` returns true. Equal options
    /// that were set later do not count. Returns true if the options were changed.
    pub(crate) fn undo_options(
        &self,
        name: &FullName,
        set: &Arc<CollectionOptions>,
        is_meant: impl FnOnce() -> bool,
        change: impl FnOnce(&mut CollectionOptions),
    ) -> Result<bool> {
        let mut is_undone = false;
        let change = |options: &mut CollectionOptions| {
            is_undone = true;
            change(options);
        };
        self.change_options_if(name, |now| Arc::ptr_eq(now, set) && is_meant(), change)?;
        Ok(is_undone)
    }

    fn change_options_if(
        &self,
        name: &FullName,
        is_meant: impl FnOnce(&Arc<CollectionOptions>) -> bool,
        change: impl FnOnce(&mut CollectionOptions),
    ) -> Result<Arc<CollectionOptions>> {
        let _change = self.change.lock();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        let entry = self.entry(name)?;
        if !is_meant(&entry.indexes.options) {
            return Ok(entry.indexes.options.clone());
        }
        let mut options = (*entry.indexes.options).clone();
        change(&mut options);
        let options = Arc::new(options.counted_in(&self.memory));
        let description = describe_documents(name, entry.system, &options);
        let stamped = self.noted(entry.documents, name, || Event::of_options(&entry.indexes.options, &options));
        let describe = vec![(entry.documents, description.clone())];
        let described = self.change_trees(0, |_| TreeChanges { describe, stamped, ..TreeChanges::default() });
        // The options change also if the outcome is unknown: later writes obey the new options.
        if described.is_ok() || self.store.description(entry.documents) == Some(description) {
            let schema: Seq = self.store.schema(entry.documents);
            if let Some(entry) = self.names.write().get_mut(name) {
                let (indexes, recording) = (entry.indexes.indexes.clone(), entry.indexes.recording.clone());
                entry.set_indexes(IndexSet { schema, indexes, options: options.clone(), recording });
            }
        }
        described?;
        Ok(options)
    }

    /// The indexes that are not ready yet, with their collections.
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

    /// Sets the indexes of an entry. The caller holds `change`, so since the caller has read `entry`, at most its
    /// `open` has changed.
    fn set_indexes(&self, name: &FullName, entry: &mut Entry, indexes: Vec<Arc<Index>>) {
        let schema: Seq = self.store.schema(entry.documents);
        if let Some(entry) = self.names.write().get_mut(name) {
            let (options, recording) = (entry.indexes.options.clone(), entry.indexes.recording.clone());
            entry.set_indexes(IndexSet { schema, indexes, options, recording });
        }
    }
}

/// Refuses one more index for a collection with `count` indexes and that on `_id`.
pub(super) fn check_number(name: &FullName, count: usize) -> Result<()> {
    if count + 1 < MAX_INDEXES {
        return Ok(());
    }
    let what = format!("collection {name} has {MAX_INDEXES} indexes already, which is the limit");
    Err(Error::Index(IndexError::CannotCreateIndex(what)))
}

/// True if the index is among the indexes that are not built. An error if one of these conflicts with it by MongoDB's
/// rules.
fn has_unbuilt(known: &[Unbuilt], wanted: &Unbuilt) -> Result<bool> {
    let conflict = |code, what: String| Err(Error::IndexConflict { code, what });
    if let Some(named) = known.iter().find(|known| known.name() == wanted.name()) {
        let name = named.name();
        return match (named.is_same(wanted), named.has_keys_of(wanted)) {
            (true, _) => Ok(true),
            (false, true) => conflict(85, format!("the index {name} exists with other options: drop it first")),
            (false, false) => Err(name_is_taken(name)),
        };
    }
    if let Some(same) = known.iter().find(|known| known.has_keys_of(wanted)) {
        return conflict(85, format!("the index {} has the same keys: drop it first", same.name()));
    }
    match known.iter().find(|known| known.is_text() && wanted.is_text()) {
        Some(text) => {
            let what = format!("a collection has only one text index, and this one has {}", text.name());
            Err(Error::Index(IndexError::CannotCreateIndex(what)))
        }
        None => Ok(false),
    }
}

fn name_is_taken(name: &str) -> Error {
    let what = format!("the index {name} exists with other keys: drop it first, or choose another name");
    Error::IndexConflict { code: 86, what }
}

/// The index that is equal to `wanted`; an error if one conflicts with it by MongoDB's rules.
pub(super) fn like(set: &IndexSet, wanted: &Definition) -> Result<Option<Arc<Index>>> {
    for index in &set.indexes {
        let known = &*index.definition;
        if known == wanted {
            return Ok(Some(index.clone()));
        }
        // Indexes that differ in any of these may coexist.
        let same = known.has_keys_of(wanted)
            && known.partial_filter() == wanted.partial_filter()
            && known.is_unique() == wanted.is_unique()
            && known.is_sparse() == wanted.is_sparse();
        let name = known.name();
        let (code, what) = match (name == wanted.name(), same) {
            (true, true) => (85, format!("the index {name} exists with other options: drop it first")),
            (true, false) => {
                let what = match known.parts() == wanted.parts() {
                    true => "the same keys, but other options (unique, sparse, partial or collation)",
                    false => "other keys",
                };
                (86, format!("the index {name} exists with {what}: drop it first, or choose another name"))
            }
            (false, true) => (85, format!("the index {name} has the same keys: drop it first")),
            (false, false) => continue,
        };
        return Err(Error::IndexConflict { code, what });
    }
    Ok(None)
}

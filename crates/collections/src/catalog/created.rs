//! Collections that transactions create.

use super::Catalog;
use super::indexes::{check_number, like};
use crate::error::Result;
use crate::history::{Event, Recording};
use crate::index::{Index, IndexSet};
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::snapshot::Created;
use crate::state::CollectionState;
use crate::trees::{SYSTEM, describe_documents};
use alluvium_document::Map;
use alluvium_query::index::Definition;
use alluvium_store::{TreeId, WriteSet};
use std::sync::Arc;

impl Catalog {
    /// The state of a collection that a transaction is to create. Its trees are among those of `set`. Its recorded changes
    /// have the fields `in_changes`.
    ///
    /// # Errors
    /// [`Error::CollectionExists`]; errors of the store.
    pub(crate) fn create_in(
        &self,
        set: &mut WriteSet,
        name: &FullName,
        options: CollectionOptions,
        in_changes: Option<&Map>,
    ) -> Result<Arc<CollectionState>> {
        self.check_free(name)?;
        // Another transaction that creates the name has claimed it.
        set.claim(TreeId::EMPTY, name.to_string().as_bytes())?;
        let describe = |ids: &[TreeId]| vec![vec![SYSTEM], describe_documents(name, ids[0], &options)];
        let trees = set.create_trees_with(2, describe)?;
        let noted = self.noted_in(in_changes, trees[1], name, || vec![Event::created(&options)]);
        noted.iter().for_each(|(tree, value)| set.note_created(*tree, value));
        Ok(self.new_state(name, trees[0], trees[1], options))
    }

    /// Adds an index to a collection without documents that the transaction of `set` is to create. Returns false if the
    /// same index exists.
    ///
    /// # Errors
    /// [`Error::IndexConflict`]; [`Error::Index`] if there are too many; errors of the store.
    pub(crate) fn add_index_in(
        &self,
        set: &mut WriteSet,
        name: &FullName,
        state: &CollectionState,
        definition: Definition,
        in_changes: Option<&Map>,
    ) -> Result<bool> {
        let before = state.indexes();
        if like(&before, &definition)?.is_some() {
            return Ok(false);
        }
        check_number(name, before.indexes.len())?;
        let mut index = Index::declared(definition);
        // It is complete at every snapshot, since there are no documents.
        index.ready = Some(0);
        set.create_indexes_with(1, |ids| {
            index.tree = ids[0];
            vec![index.describe(state.documents)]
        })?;
        let created = || vec![Event::index_created(index.definition.to_map())];
        let noted = self.noted_in(in_changes, state.documents, name, created);
        noted.iter().for_each(|(tree, value)| set.note_created(*tree, value));
        let (schema, options, recording) = (before.schema, before.options.clone(), before.recording.clone());
        let mut indexes = before.indexes.clone();
        indexes.push(Arc::new(index));
        state.set_indexes(Arc::new(IndexSet { schema, indexes, options, recording }));
        Ok(true)
    }

    /// Calls `commit`, which creates collections of a transaction, and enters them. Before that, all their names are
    /// still free, or the result is a conflict.
    ///
    /// # Errors
    /// A conflict; those of `commit`.
    pub(crate) fn entering<T>(&self, created: &Created, commit: impl FnOnce() -> Result<T>) -> Result<T> {
        let _change = self.begin_name_change();
        // The writes to a collection were encoded as its changes were recorded, or not, when it was created.
        let recording_changed = |(name, state): (&FullName, &Arc<CollectionState>)| {
            let tree = |recording: Option<&Arc<Recording>>| recording.map(|recording| recording.tree);
            tree(state.indexes().recording.as_ref()) != tree(self.recording_of(name).as_ref())
        };
        if created.keys().any(|name| self.check_free(name).is_err()) || created.iter().any(recording_changed) {
            return Err(alluvium_store::Error::Conflict.into());
        }
        let committed = commit();
        for (name, state) in created {
            // As for a drop, the name is used also if the outcome is unknown.
            if committed.is_ok() || self.store.description(state.documents).is_some() {
                let set = state.indexes();
                let (indexes, options, recording) = (set.indexes.clone(), set.options.clone(), set.recording.clone());
                let schema = self.store.schema(state.documents);
                state.set_indexes(Arc::new(IndexSet { schema, indexes, options, recording }));
                self.enter(name, state);
            }
        }
        committed
    }
}

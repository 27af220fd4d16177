//! The scopes whose changes are recorded. To begin or end that changes the schema of each collection in the scope, so that
//! the store refuses batches that were made before.

use super::{Catalog, Entry};
use crate::appends::Appends;
use crate::error::Result;
use crate::history::{History, RecordedScope, RecordedShapes, Recording, Scope};
use crate::index::IndexSet;
use crate::names::FullName;
use crate::trees::describe_documents;
use alluvium_store::{Seq, TreeChanges, TreeId};
use std::collections::HashSet;
use std::sync::Arc;

impl Catalog {
    /// The recording of a collection's changes.
    pub(crate) fn recording_of(&self, name: &FullName) -> Option<Arc<Recording>> {
        let history = self.history.read();
        let history = history.as_ref().filter(|history| history.covers(name))?;
        Some(Arc::new(Recording { tree: history.tree, writes: self.recorded_writes.clone() }))
    }

    /// Counts the recorded writes, and wakes the readers that wait for one.
    pub(crate) fn recorded_writes(&self) -> &Arc<Appends> {
        &self.recorded_writes
    }

    /// The tree of the recorded changes.
    pub(crate) fn history(&self) -> Option<TreeId> {
        self.history.read().as_ref().map(|history| history.tree)
    }

    /// The shapes of recorded rows.
    pub(crate) fn recorded_shapes(&self) -> &RecordedShapes {
        &self.recorded_shapes
    }

    /// The trees of documents of all collections. Waits for changes of names, so each collection whose documents are
    /// visible is among them, also one that a transaction has created.
    pub(crate) fn documents(&self) -> HashSet<TreeId> {
        let _change = self.change.lock();
        self.names.read().values().map(|entry| entry.documents).collect()
    }

    /// The scopes whose changes are recorded.
    pub fn recorded_scopes(&self) -> Vec<RecordedScope> {
        self.history.read().as_ref().map(|history| history.scopes.clone()).unwrap_or_default()
    }

    /// Begins to record the changes of a scope. Returns the number from which on they are complete; of a scope that is
    /// recorded already the one that it has. `used_ms` is as in [`RecordedScope`]: without it, also a recording that a
    /// change stream has begun lasts until it is stopped.
    ///
    /// # Errors
    /// As for any write.
    pub fn record_changes(&self, scope: Scope, used_ms: Option<i64>) -> Result<Seq> {
        let _change = self.begin_name_change();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        let former = self.history.read().clone();
        let mut scopes = former.as_ref().map(|history| history.scopes.clone()).unwrap_or_default();
        if let Some(known) = scopes.iter().find(|known| known.scope == scope) {
            self.keep_recording(&scope, used_ms)?;
            return Ok(known.since);
        }
        scopes.push(RecordedScope { scope, since: 0, used_ms });
        let added = scopes.len() - 1;
        let tree = former.as_ref().map_or(TreeId::EMPTY, |history| history.tree);
        let mut history = History { tree, scopes, has_rows: true };
        let is_new = |name: &FullName| history.covers(name) && former.as_ref().is_none_or(|known| !known.covers(name));
        let begun = self.entries_where(is_new);
        let mut describe: Vec<(TreeId, Vec<u8>)> = begun.iter().map(described).collect();
        let description = History::describe(&history.scopes);
        match &former {
            Some(former) => {
                describe.push((former.tree, description));
                self.store.change_trees(0, |_| TreeChanges { describe, ..TreeChanges::default() })?;
            }
            None => {
                let create = vec![description];
                let changes = |_: &[TreeId]| TreeChanges { create, describe, ..TreeChanges::default() };
                history.tree = self.store.change_trees(1, changes)?[0];
            }
        }
        // Batches with higher numbers were made under the new schema. The number is not known before, so it is written
        // now; if that fails, the next opening takes a later one.
        let since = self.store.schema(history.tree);
        history.scopes[added].since = since;
        let description = History::describe(&history.scopes);
        let tree = history.tree;
        *self.history.write() = Some(history);
        self.set_recordings(&begun);
        self.store.describe_trees(&[(tree, &description)])?;
        self.store.sync()?;
        Ok(since)
    }

    /// Ends the recording of a scope. Returns false if it was not recorded. After the last scope, the history is dropped.
    ///
    /// # Errors
    /// As for any write.
    pub fn stop_recording(&self, scope: &Scope) -> Result<bool> {
        self.stop_where(|known| known.scope == *scope)
    }

    /// Ends the recording of the scopes that are meant. Returns false if none is recorded.
    pub(super) fn stop_where(&self, is_meant: impl Fn(&RecordedScope) -> bool) -> Result<bool> {
        let _change = self.begin_name_change();
        let _indexes = self.index_set_lock.write();
        self.store.check_writable()?;
        let Some(former) = self.history.read().clone() else { return Ok(false) };
        let mut history = former.clone();
        history.scopes.retain(|known| !is_meant(known));
        if history.scopes.len() == former.scopes.len() {
            return Ok(false);
        }
        let ended = self.entries_where(|name| former.covers(name) && !history.covers(name));
        let mut describe: Vec<(TreeId, Vec<u8>)> = ended.iter().map(described).collect();
        let is_last = history.scopes.is_empty();
        let mut drop = Vec::new();
        match is_last {
            true => drop.push(history.tree),
            false => describe.push((history.tree, History::describe(&history.scopes))),
        }
        self.store.change_trees(0, |_| TreeChanges { describe, drop, ..TreeChanges::default() })?;
        *self.history.write() = Some(history).filter(|_| !is_last);
        self.set_recordings(&ended);
        // Readers that wait find out.
        self.recorded_writes.note();
        Ok(true)
    }

    pub(super) fn entries_where(&self, is_meant: impl Fn(&FullName) -> bool) -> Vec<(FullName, Entry)> {
        let names = self.names.read();
        let meant = names.iter().filter(|(name, _)| is_meant(name));
        meant.map(|(name, entry)| (name.clone(), entry.clone())).collect()
    }

    /// Sets the schemas of collections whose recording has begun or ended.
    pub(super) fn set_recordings(&self, changed: &[(FullName, Entry)]) {
        let mut names = self.names.write();
        for (name, _) in changed {
            let recording = self.recording_of(name);
            if let Some(entry) = names.get_mut(name) {
                let (indexes, options) = (entry.indexes.indexes.clone(), entry.indexes.options.clone());
                let schema = self.store.schema(entry.documents);
                entry.set_indexes(IndexSet { schema, indexes, options, recording });
            }
        }
    }

    /// Sets the numbers of scopes that are not known: those of a recording that was interrupted when it began, and after
    /// damage in the log, which may have lost changes.
    pub(super) fn begin_history(&self) -> Result<()> {
        let any_lost = !self.store.report().lost.is_empty();
        let Some(history) = &mut *self.history.write() else { return Ok(()) };
        let visible = self.store.visible();
        let mut unknown = history.scopes.iter_mut().filter(|scope| scope.since == 0 || any_lost).peekable();
        if unknown.peek().is_none() && history.has_rows {
            return Ok(());
        }
        unknown.for_each(|scope| scope.since = visible);
        if !self.store.options().read_only {
            self.store.describe_trees(&[(history.tree, &History::describe(&history.scopes))])?;
            history.has_rows = true;
        }
        Ok(())
    }
}

/// The tree of a collection's documents, and its description.
fn described(named: &(FullName, Entry)) -> (TreeId, Vec<u8>) {
    let (name, entry) = named;
    (entry.documents, describe_documents(name, entry.system, &entry.indexes.options))
}

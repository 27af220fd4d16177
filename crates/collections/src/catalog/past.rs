//! Names at a snapshot: a collection that was dropped or renamed after the snapshot is read there
//! under its old name.

use super::{Catalog, load_shapes, no_such_collection};
use crate::error::Result;
use crate::index::IndexSet;
use crate::names::FullName;
use crate::snapshot::{PastTrees, Snapshot};
use crate::state::CollectionState;
use crate::trees::{read_documents, read_options};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Catalog {
    /// The names of the collections that existed at a snapshot, sorted.
    ///
    /// # Errors
    /// Errors of reading the registry.
    pub fn list_at(&self, snapshot: &Snapshot) -> Result<Vec<FullName>> {
        let mut names = match self.unchanged_since(snapshot.seq(), || self.list()) {
            Some(now) => now,
            None => {
                let names = self.past_names(snapshot)?.keys();
                names.filter(|name| !name.is_temporary()).cloned().collect()
            }
        };
        if let Some(created) = &snapshot.created {
            names.extend(created.keys().cloned());
            names.sort_unstable();
        }
        Ok(names)
    }

    /// As [`Catalog::find_at`], with an error that names the nearest collection.
    ///
    /// # Errors
    /// [`crate::error::Error::NoSuchCollection`]; errors of reading the registry.
    pub fn require_at(&self, name: &FullName, snapshot: &Snapshot) -> Result<Arc<CollectionState>> {
        match self.find_at(name, snapshot)? {
            Some(state) => Ok(state),
            None => {
                self.store.check_open()?;
                Err(no_such_collection(name, self.list_at(snapshot)?.iter()))
            }
        }
    }

    /// The state of the collection that had this name at a snapshot; `None` if none had.
    ///
    /// # Errors
    /// Errors of reading the registry.
    pub fn find_at(&self, name: &FullName, snapshot: &Snapshot) -> Result<Option<Arc<CollectionState>>> {
        if let Some(created) = snapshot.created(name) {
            return Ok(Some(created.clone()));
        }
        if let Some(now) = self.unchanged_since(snapshot.seq(), || self.find(name)) {
            return now;
        }
        let names = self.past_names(snapshot)?;
        let Some(PastTrees { documents, system, options }) = names.get(name) else { return Ok(None) };
        let (documents, system) = (*documents, *system);
        if let Some(state) = self.state_of(documents) {
            return Ok(Some(state));
        }
        let mut known = snapshot.past.states.lock();
        if let Some(state) = known.get(&documents) {
            return Ok(Some(state.clone()));
        }
        // If the collection was used before it was dropped, folds already have its shapes, which include all shapes of
        // the snapshot. Also, another thread may be creating the collection or using it for the first time. In both
        // cases the shapes of this snapshot must not replace the shapes that folds use.
        let shapes = match self.folds.known(documents) {
            Some(shapes) => shapes,
            None => {
                let shapes = load_shapes(&self.store, name, system, Some(&snapshot.store))?;
                self.folds.learn_unknown(documents, shapes)
            }
        };
        let indexes = IndexSet { options: options.clone(), ..IndexSet::default() };
        let state = CollectionState::new(documents, system, shapes, Arc::new(indexes));
        known.insert(documents, state.clone());
        Ok(Some(state))
    }

    fn past_names<'s>(&self, snapshot: &'s Snapshot) -> Result<&'s BTreeMap<FullName, PastTrees>> {
        if let Some(names) = snapshot.past.names.get() {
            return Ok(names);
        }
        let trees = self.store.trees_at(&snapshot.store)?.into_iter();
        let named = trees.filter_map(|(documents, description)| {
            let (name, system) = read_documents(&description)?;
            let options = read_options(&description).unwrap_or_default();
            let options = Arc::new(options.counted_in(&self.memory));
            Some((name, PastTrees { documents, system, options }))
        });
        let names = named.collect();
        Ok(snapshot.past.names.get_or_init(|| names))
    }
}

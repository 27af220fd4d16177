//! Names as they were at a snapshot: a collection that was dropped or renamed since is read there
//! under the name that it had.

use crate::Result;
use crate::catalog::{Catalog, Open, load_shapes, no_such_collection, read_description};
use crate::database::Snapshot;
use crate::names::FullName;
use alluvium_env::sync::Mutex;
use alluvium_store::{Store, TreeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// What a snapshot finds out about collections, once names have changed since. Its clones share it.
#[derive(Default)]
pub(crate) struct Past {
    /// The trees of documents and of shapes, by name.
    names: OnceLock<BTreeMap<FullName, (TreeId, TreeId)>>,
    /// Collections that are not in the catalogue any more, by their trees of documents.
    open: Mutex<HashMap<TreeId, Arc<Open>>>,
}

impl Past {
    fn names(
        &self,
        store: &Store,
        snapshot: &alluvium_store::Snapshot,
    ) -> Result<&BTreeMap<FullName, (TreeId, TreeId)>> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let trees = store.trees_at(snapshot)?.into_iter();
        let named = trees.filter_map(|(documents, description)| {
            let (name, system) = read_description(&description)?;
            Some((name, (documents, system)))
        });
        let names = named.collect();
        Ok(self.names.get_or_init(|| names))
    }
}

impl Catalog {
    /// The collections that there were at a snapshot, by name.
    ///
    /// # Errors
    /// What keeps the registry from being read.
    pub fn list_at(&self, store: &Store, snapshot: &Snapshot) -> Result<Vec<FullName>> {
        let now = self.list();
        if self.unchanged_since(snapshot.store.seq()) {
            return Ok(now);
        }
        Ok(snapshot.past.names(store, &snapshot.store)?.keys().cloned().collect())
    }

    /// The state of the collection that had this name at a snapshot.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`] if none had; what keeps the registry from being read.
    pub fn require_at(&self, store: &Store, name: &FullName, snapshot: &Snapshot) -> Result<Arc<Open>> {
        let now = self.find(store, name);
        // Asked after the name was looked up: if it changed before that, this says so.
        if self.unchanged_since(snapshot.store.seq()) {
            return now?.ok_or_else(|| self.missing(store, name));
        }
        let names = snapshot.past.names(store, &snapshot.store)?;
        let Some(&(documents, system)) = names.get(name) else {
            store.check_open()?;
            return Err(no_such_collection(name, names.keys()));
        };
        if let Some(open) = self.open_with(documents) {
            return Ok(open);
        }
        let mut known = snapshot.past.open.lock();
        if let Some(open) = known.get(&documents) {
            return Ok(open.clone());
        }
        // Those that folds use, if the collection was used before it was dropped: they know all that these do. It may also
        // be about to be created, or used for the first time: then folds must not fall back on what this snapshot knows.
        let shapes = match self.folds().known(documents) {
            Some(shapes) => shapes,
            None => self.folds().learn_unknown(documents, load_shapes(store, name, system, Some(&snapshot.store))?),
        };
        let open = Open::new(documents, system, shapes, Arc::default());
        known.insert(documents, open.clone());
        Ok(open)
    }
}

impl std::fmt::Debug for Past {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Past").field("names", &self.names.get().map(BTreeMap::len)).finish_non_exhaustive()
    }
}

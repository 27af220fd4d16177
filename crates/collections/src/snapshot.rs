//! Snapshots of the whole database, with the names of the collections at that time.

use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::state::CollectionState;
use alluvium_env::sync::Mutex;
use alluvium_store::{Seq, TreeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// The state of the whole database at one point in time. It never changes: a read at the snapshot
/// sees the documents that were visible then, under the names that the collections had then.
///
/// Cheap to clone. A snapshot keeps old versions on disk until its last clone is dropped, or until
/// it is older than `snapshot_max_age` or keeps more than `snapshot_max_debt` (see
/// `alluvium::Builder`).
#[derive(Clone)]
pub struct Snapshot {
    /// The snapshot of the key/value store.
    #[doc(hidden)]
    pub store: alluvium_store::Snapshot,
    pub(crate) past: Arc<PastNames>,
    /// Collections that only the snapshot sees, because a transaction is to create them.
    pub(crate) created: Option<Arc<Created>>,
}

/// Collections by their names.
pub(crate) type Created = BTreeMap<FullName, Arc<CollectionState>>;

impl Snapshot {
    pub(crate) fn new(store: alluvium_store::Snapshot) -> Self {
        Self { store, past: Arc::default(), created: None }
    }

    /// The collection with this name, if only the snapshot sees it.
    /// The collection with this name that the transaction of the snapshot has created.
    pub fn created(&self, name: &FullName) -> Option<&Arc<CollectionState>> {
        self.created.as_ref()?.get(name)
    }

    pub(crate) fn seq(&self) -> Seq {
        self.store.seq()
    }
}

/// The trees of a collection at a snapshot.
#[derive(Debug, Clone)]
pub(crate) struct PastTrees {
    pub documents: TreeId,
    pub system: TreeId,
    pub options: Arc<CollectionOptions>,
}

/// The names at a snapshot, which are read if names have changed after the snapshot. All clones of the snapshot share
/// them.
#[derive(Default)]
pub(crate) struct PastNames {
    pub names: OnceLock<BTreeMap<FullName, PastTrees>>,
    /// Collections that are no longer in the catalogue, by their trees of documents.
    pub states: Mutex<HashMap<TreeId, Arc<CollectionState>>>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("store", &self.store).finish_non_exhaustive()
    }
}

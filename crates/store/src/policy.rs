//! Implementations of the traits through which partitions query the store: live snapshots and trees, the log, and the
//! meaning of values.

use crate::definitions::{self, Definitions};
use crate::fold::Fold;
use crate::reads::Reads;
use crate::trees::{TreeId, Trees};
use crate::visibility::Visibility;
use alluvium_codec::entry::{self, Entry, Kind, Seq};
use alluvium_env::{Error, Result};
use alluvium_lsm::{DefinitionUse, DeltaFold, Liveness, LogBarrier, TreeProperties, Used};
use alluvium_wal::Wal;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

/// The snapshots and trees of the store.
pub(crate) struct LiveState {
    pub visibility: Arc<Visibility>,
    pub trees: Arc<Trees>,
}

impl Liveness for LiveState {
    fn snapshots(&self) -> Vec<Seq> {
        self.visibility.live()
    }

    fn tree_is_live(&self, tree: u32, _now: Seq) -> bool {
        self.trees.keeps_keys(tree)
    }
}

impl TreeProperties for Trees {
    fn wants_filter(&self, tree: u32) -> bool {
        let tree = TreeId(tree);
        !self.is_multivalue(tree) && !self.is_index(tree)
    }

    fn is_scanned(&self, tree: u32) -> bool {
        self.is_index(TreeId(tree))
    }

    fn needs_numbers(&self, tree: u32) -> bool {
        !self.is_multivalue(TreeId(tree))
    }
}

/// The log, which is synced before every flush.
pub(crate) struct SyncedLog {
    visibility: Arc<Visibility>,
    /// Set once recovery has opened the log. A flush *during* recovery needs no log: it writes entries that recovery
    /// synced before it passed them on.
    wal: OnceLock<Arc<Wal>>,
}

impl SyncedLog {
    pub fn new(visibility: &Arc<Visibility>) -> Arc<Self> {
        Arc::new(Self { visibility: visibility.clone(), wal: OnceLock::new() })
    }

    /// Sets the log, once.
    pub fn set_wal(&self, wal: &Arc<Wal>) {
        let _first = self.wal.set(wal.clone());
    }
}

impl LogBarrier for SyncedLog {
    fn sync_past(&self, _max_seq: Seq) -> Result<()> {
        // After the store is poisoned, a memtable may contain half of a batch. This half must not become durable.
        if let Some(cause) = self.visibility.failure() {
            let cause = std::io::Error::other(cause.to_string());
            return Err(Error::io("flush into", Path::new("a poisoned database"), cause));
        }
        match self.wal.get() {
            // All entries of a sealed memtable were appended to the log before they were applied. Therefore the end of
            // the log is after them.
            Some(wal) => wal.sync_to(wal.end()),
            None => Ok(()),
        }
    }
}

/// The fold of the layer above, if that layer has one.
pub(crate) struct OwnerFold(pub Option<Arc<dyn Fold>>);

impl DeltaFold for OwnerFold {
    fn fold(&self, key: &[u8], base: &[u8], deltas: &[&[u8]], out: &mut Vec<u8>) -> Result<Option<u64>> {
        let (Some(fold), Some((tree, rest))) = (&self.0, key.split_first_chunk()) else { return Ok(None) };
        let tree = TreeId(u32::from_be_bytes(*tree));
        fold.fold(tree, rest, base, deltas, out).map_err(|error| {
            let what = format!("deltas of key {rest:02x?}: {error}");
            Error::corrupt(Path::new(&format!("tree {}", tree.0)), 0, what)
        })
    }
}

/// The definitions of the layer above, if that layer has any.
pub(crate) struct OwnerDefinitions {
    definitions: Option<Arc<dyn Definitions>>,
    trees: Arc<Trees>,
    /// Set once the store is open. Definitions are read through it.
    reads: OnceLock<Weak<Reads>>,
}

impl OwnerDefinitions {
    pub fn new(definitions: Option<Arc<dyn Definitions>>, trees: &Arc<Trees>) -> Arc<Self> {
        Arc::new(Self { definitions, trees: trees.clone(), reads: OnceLock::new() })
    }

    /// Sets the reader of definitions, once.
    pub fn set_reads(&self, reads: &Arc<Reads>) {
        let _first = self.reads.set(Arc::downgrade(reads));
    }
}

impl DefinitionUse for OwnerDefinitions {
    fn uses_definitions(&self, tree: u32) -> bool {
        let Some(definitions) = &self.definitions else { return false };
        self.trees.description(TreeId(tree)).is_some_and(|description| definitions.kept_in(&description).is_some())
    }

    fn note_used(&self, entry: &Entry<'_>, used: &mut Used) {
        let Some(definitions) = &self.definitions else { return };
        let value = match entry.kind {
            Kind::Put => entry.value,
            Kind::Folded => entry::split_folded(entry.seq, entry.value).map_or(&[][..], |(_, value)| value),
            Kind::Delete | Kind::Delta | Kind::RangeDelete => return,
        };
        definitions.used(value, &mut |number| used.insert(number));
    }

    fn aux(&self, used: &[(u32, Used)], older: &dyn Fn() -> Vec<Vec<u8>>) -> Vec<u8> {
        let Some(definitions) = &self.definitions else { return Vec::new() };
        let reads = self.reads.get().and_then(Weak::upgrade);
        let visible = |tree, key: &[u8]| reads.as_ref()?.get_if_readable(tree, key);
        definitions::gather(&**definitions, visible, used, &|tree| self.trees.description(tree), older)
    }
}

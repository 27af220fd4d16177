//! What the partitions cannot know, answered from above: snapshots, live trees, the log.

use crate::store::Inner;
use crate::trees::Trees;
use crate::visibility::Visibility;
use crate::{Definitions, Fold, Options, TreeId, definitions};
use alluvium_codec::entry::{self, Entry, Kind, Seq};
use alluvium_lsm::Used;
use alluvium_wal::Wal;
use std::sync::{Arc, OnceLock, Weak};

/// The store's answers to `lsm`.
pub(crate) struct StorePolicy {
    pub visibility: Arc<Visibility>,
    pub trees: Arc<Trees>,
    pub fold: Option<Arc<dyn Fold>>,
    pub definitions: Option<Arc<dyn Definitions>>,
    /// Set once the store is open; definitions are read from it.
    pub inner: OnceLock<Weak<Inner>>,
    /// Set once recovery has opened the log. A flush *during* recovery writes entries that
    /// recovery has synced before it handed them out, so it needs no log.
    pub wal: OnceLock<Arc<Wal>>,
}

impl StorePolicy {
    /// The answers while a store is being opened.
    pub fn new(visibility: &Arc<Visibility>, trees: &Arc<Trees>, options: &Options) -> Self {
        Self {
            visibility: visibility.clone(),
            trees: trees.clone(),
            fold: options.fold.clone(),
            definitions: options.definitions.clone(),
            inner: OnceLock::new(),
            wal: OnceLock::new(),
        }
    }
}

impl alluvium_lsm::Liveness for StorePolicy {
    fn snapshots(&self) -> Vec<Seq> {
        self.visibility.live()
    }

    fn tree_is_live(&self, tree: u32, _now: Seq) -> bool {
        self.trees.keeps_keys(tree)
    }
}

impl alluvium_lsm::TreeProperties for StorePolicy {
    fn wants_filter(&self, tree: u32) -> bool {
        let tree = TreeId(tree);
        !self.trees.is_multivalue(tree) && !self.trees.is_index(tree)
    }

    fn needs_numbers(&self, tree: u32) -> bool {
        !self.trees.is_multivalue(TreeId(tree))
    }
}

impl alluvium_lsm::DeltaFold for StorePolicy {
    fn fold(&self, key: &[u8], base: &[u8], deltas: &[&[u8]], out: &mut Vec<u8>) -> alluvium_env::Result<Option<u64>> {
        let (Some(fold), Some((tree, rest))) = (&self.fold, key.split_first_chunk()) else { return Ok(None) };
        let tree = TreeId(u32::from_be_bytes(*tree));
        fold.fold(tree, rest, base, deltas, out).map_err(|error| {
            let what = format!("deltas of key {rest:02x?}: {error}");
            alluvium_env::Error::corrupt(std::path::Path::new(&format!("tree {}", tree.0)), 0, what)
        })
    }
}

impl alluvium_lsm::DefinitionUse for StorePolicy {
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
        let inner = self.inner.get().and_then(Weak::upgrade);
        definitions::gather(&**definitions, inner.as_deref(), used, &|tree| self.trees.description(tree), older)
    }
}

impl alluvium_lsm::LogBarrier for StorePolicy {
    fn sync_past(&self, _max_seq: Seq) -> alluvium_env::Result<()> {
        // After a poison a memtable may hold half of a batch: it must not become durable.
        if let Some(cause) = self.visibility.failure() {
            let cause = std::io::Error::other(cause.to_string());
            return Err(alluvium_env::Error::io("flush into", std::path::Path::new("a poisoned database"), cause));
        }
        match self.wal.get() {
            // Everything in a sealed memtable was appended before it was applied, so the end of
            // the log now lies behind it.
            Some(wal) => wal.sync_to(wal.end()),
            None => Ok(()),
        }
    }
}

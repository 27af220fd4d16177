//! Knowledge that a partition needs from the layer above: one trait for each kind of query.
//!
//! No lock of a partition is held during a call, except [`LogBarrier::sync_past`].

use crate::used::Used;
use alluvium_codec::entry::{Entry, Seq};
use alluvium_env::Result;
use std::sync::Arc;

/// The sequence number of entries whose numbers are never used ([`TreeProperties::needs_numbers`]): it takes no space.
pub const NUMBERLESS: Seq = 1;

/// Live snapshots and live trees.
pub trait Liveness: Send + Sync {
    /// The sequence numbers that reads may use: live snapshots, and *visible* itself, ascending, taken
    /// under one lock. Versions above the last one are all kept.
    fn snapshots(&self) -> Vec<Seq>;

    /// False if the keys of a tree may be removed: the tree was dropped, the drop is durable, and no
    /// snapshot that sees the tree is left. Iterators at `now` skip such keys.
    fn tree_is_live(&self, tree: u32, now: Seq) -> bool;
}

/// The use of the keys of a tree.
pub trait TreeProperties: Send + Sync {
    /// False if single keys of a tree are never looked up: its files then have no filters. Default: true.
    fn wants_filter(&self, tree: u32) -> bool {
        let _ = tree;
        true
    }

    /// True if short ranges of a tree are scanned, each of which reads a block of every run. The tree then has files of
    /// its own from a sixteenth of [`crate::Options::small_tree_bytes`] on, and few runs, as long as that costs little.
    /// Default: false.
    fn is_scanned(&self, tree: u32) -> bool {
        let _ = tree;
        false
    }

    /// False if the sequence numbers of a tree's entries are never used. An entry then gets the number [`NUMBERLESS`]
    /// if every snapshot sees it and nothing is below it. Default: true.
    fn needs_numbers(&self, tree: u32) -> bool {
        let _ = tree;
        true
    }
}

/// The order between the write-ahead log and the files of a partition.
pub trait LogBarrier: Send + Sync {
    /// Called before files become part of a partition, by a flush under the partition's flush lock:
    /// makes the log durable past `max_seq`, the highest number in the new files.
    ///
    /// # Errors
    /// The error that kept the log from being synced; the flush fails with it and can be tried again.
    fn sync_past(&self, max_seq: Seq) -> Result<()>;
}

/// The meaning of deltas.
pub trait DeltaFold: Send + Sync {
    /// Applies deltas, oldest first, to the value `base` of `key`, and appends the result to `out`. Returns the number
    /// of deltas that could not apply and were skipped, or `None` if folding is not possible now; the deltas are then
    /// kept. Must be deterministic. Default: `None`.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] if the value or a delta is damaged.
    fn fold(&self, key: &[u8], base: &[u8], deltas: &[&[u8]], out: &mut Vec<u8>) -> Result<Option<u64>> {
        let _ = (key, base, deltas, out);
        Ok(None)
    }
}

/// The definitions that values refer to by number, kept next to the values for salvage.
pub trait DefinitionUse: Send + Sync {
    /// True if the values of a tree use definitions. Default: false.
    fn uses_definitions(&self, tree: u32) -> bool {
        let _ = tree;
        false
    }

    /// Adds the numbers of the definitions that an entry's value uses. Called only for trees for which
    /// [`DefinitionUse::uses_definitions`] is true.
    fn note_used(&self, entry: &Entry<'_>, used: &mut Used) {
        let _ = (entry, used);
    }

    /// Returns opaque bytes to keep in a file, for salvage: the definitions that its values use, by tree. `older` reads
    /// these bytes from the compaction's input files. Default: empty.
    fn aux(&self, used: &[(u32, Used)], older: &dyn Fn() -> Vec<Vec<u8>>) -> Vec<u8> {
        let _ = (used, older);
        Vec::new()
    }
}

/// An implementation of each trait.
pub struct Policies {
    /// Live snapshots and trees.
    pub liveness: Arc<dyn Liveness>,
    /// The use of the keys of trees.
    pub trees: Arc<dyn TreeProperties>,
    /// The order between the log and files.
    pub log: Arc<dyn LogBarrier>,
    /// The meaning of deltas.
    pub fold: Arc<dyn DeltaFold>,
    /// The definitions that values use.
    pub definitions: Arc<dyn DefinitionUse>,
}

impl Policies {
    /// One object that implements all traits.
    pub fn from_one<P>(policy: &Arc<P>) -> Self
    where
        P: Liveness + TreeProperties + LogBarrier + DeltaFold + DefinitionUse + 'static,
    {
        Self {
            liveness: policy.clone(),
            trees: policy.clone(),
            log: policy.clone(),
            fold: policy.clone(),
            definitions: policy.clone(),
        }
    }
}

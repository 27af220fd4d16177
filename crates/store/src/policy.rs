//! What the partitions cannot know, answered from above: snapshots, live trees, the log.

use crate::trees::Trees;
use crate::visibility::Visibility;
use codec::entry::Seq;
use std::sync::{Arc, OnceLock};
use wal::Wal;

/// The store's answers to `lsm`.
pub(crate) struct StorePolicy {
    pub visibility: Arc<Visibility>,
    pub trees: Arc<Trees>,
    /// Set once recovery has opened the log. A flush *during* recovery writes entries that
    /// recovery has synced before it handed them out, so it needs no log.
    pub wal: OnceLock<Arc<Wal>>,
}

impl lsm::Policy for StorePolicy {
    fn snapshots(&self) -> Vec<Seq> {
        self.visibility.live()
    }

    fn tree_is_live(&self, tree: u32, _now: Seq) -> bool {
        self.trees.keeps_keys(tree)
    }

    fn before_edit(&self, _max_seq: Seq) -> env::Result<()> {
        // After a poison a memtable may hold half of a batch: it must not become durable.
        if let Some(cause) = self.visibility.failure() {
            let cause = std::io::Error::other(cause.to_string());
            return Err(env::Error::io("flush into", std::path::Path::new("a poisoned database"), cause));
        }
        match self.wal.get() {
            // Everything in a sealed memtable was appended before it was applied, so the end of
            // the log now lies behind it.
            Some(wal) => wal.sync_to(wal.end()),
            None => Ok(()),
        }
    }
}

//! Opening for reading only.
//!
//! The store is opened as always, over a file system that keeps in memory what would be written
//! ([`OverlayFs`]): the manifests, the new end of the log, the files of a log that is larger than
//! the memtables. So there is one way to recover, and none of it changes the disk. Then the store
//! takes no writes, and its threads are not started.

use crate::files::superblock;
use crate::files::{self, LOCK_NAME, LOG_DIR};
use crate::options::Options;
use alluvium_env::{Env, OverlayFs};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the segment that the log ends with: only the notes of checkpoints are written to it.
pub(crate) const SEGMENT_BYTES: u64 = 64 << 10;

/// The directory for reading: the overlay, and the environment over it.
pub(crate) struct Reading {
    pub env: Env,
    overlay: OverlayFs,
}

impl Reading {
    /// Over the environment in which the directory `path` is held open.
    pub fn new(env: &Env, path: &Path, options: &Options) -> Self {
        let overlay = OverlayFs::new(env.fs.clone(), path, options.overlay_bytes(), is_ours);
        Self { env: Env { fs: Arc::new(overlay.clone()), ..env.clone() }, overlay }
    }

    /// Takes the memory of the overlay out of the budget.
    pub fn charge(&self, budget: &Arc<alluvium_lsm::Budget>) {
        let budget = budget.clone();
        self.overlay.listen(move |used| {
            budget.set(alluvium_lsm::Owner::Overlay, usize::try_from(used).unwrap_or(usize::MAX));
        });
    }
}

/// The names that a store creates in its directory.
fn is_ours(name: &str) -> bool {
    let files = [LOCK_NAME, LOG_DIR, superblock::NAME, superblock::NEXT, superblock::TEMPORARY];
    files.contains(&name) || files::partition_of_dir(name).is_some() || files::is_sort_dir(name)
}

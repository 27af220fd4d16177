//! Opening for reading only.
//!
//! The store is opened as usual, over a file system that keeps all writes in memory ([`OverlayFs`]): the manifests, the
//! new end of the log, and the files of a log that is larger than the memtables. Therefore there is only one recovery
//! procedure, and it does not change the disk. After the opening, the store takes no writes, and its threads are not
//! started.

use crate::files::superblock;
use crate::files::{self, LOCK_NAME, LOG_DIR};
use crate::options::Options;
use alluvium_env::{Env, OverlayFs};
use std::path::Path;
use std::sync::Arc;

/// The size in bytes of the last segment of the log. Only the notes of checkpoints are written to it.
pub(crate) const SEGMENT_BYTES: u64 = 64 << 10;

/// A directory that is opened for reading: the overlay, and the environment over it.
pub(crate) struct Reading {
    pub env: Env,
    overlay: OverlayFs,
}

impl Reading {
    /// Creates the overlay over the environment in which the directory `path` is held open.
    pub fn new(env: &Env, path: &Path, options: &Options) -> Self {
        let overlay = OverlayFs::new(env.fs.clone(), path, options.overlay_bytes(), is_ours);
        Self { env: Env { fs: Arc::new(overlay.clone()), ..env.clone() }, overlay }
    }

    /// Charges the memory of the overlay to the budget.
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

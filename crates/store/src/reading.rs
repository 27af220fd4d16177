//! Opening for reading only.
//!
//! The store is opened as always, over a file system that keeps in memory what would be written
//! ([`OverlayFs`]): the manifests, the new end of the log, the files of a log that is larger than
//! the memtables. So there is one way to recover, and none of it changes the disk. Then the store
//! takes no writes, and its threads are not started.

use crate::error::{Error, Result};
use crate::files::superblock;
use crate::files::{self, LOCK_NAME, LOG_DIR, partition_dir};
use crate::options::Options;
use alluvium_env::{Env, OverlayFs};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the segment that the log ends with: only the notes of checkpoints are written to it.
pub(crate) const SEGMENT_BYTES: u64 = 64 << 10;

/// The directory as it is read: the overlay, and the environment over it.
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

/// The error of an opening for which the memory budget is too small, with the budget that suffices.
pub(crate) fn explain(error: Error, env: &Env, path: &Path, partitions: u32) -> Error {
    match error {
        Error::Storage(cause) if cause.is_overlay_full() => match need(env, path, partitions) {
            Ok((log_bytes, needed_bytes)) => Error::LogTooLarge { path: path.to_owned(), log_bytes, needed_bytes },
            Err(_) => Error::Storage(cause),
        },
        error => error,
    }
}

/// The bytes of the log, and a memory budget with which it is read for certain: its files and the
/// manifests take two fifths of it at most.
fn need(env: &Env, path: &Path, partitions: u32) -> Result<(u64, u64)> {
    let bytes_in = |dir: &Path, prefix: &str| -> Result<u64> {
        let entries = env.fs.list(dir)?;
        Ok(entries.iter().filter(|entry| entry.name.starts_with(prefix)).map(|entry| entry.len).sum())
    };
    let log_bytes = bytes_in(&path.join(LOG_DIR), "wal-")?;
    let mut manifests = 0;
    for index in 0..partitions {
        manifests += bytes_in(&path.join(partition_dir(index)), "MANIFEST-")?;
    }
    let kept = log_bytes / 8 * 9 + manifests + u64::from(partitions + 1) * SEGMENT_BYTES;
    Ok((log_bytes, (kept / 2 * 5).next_multiple_of(1 << 20)))
}

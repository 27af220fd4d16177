//! Computes how much memory or disk space an opening needs, after it failed for lack of it.

use crate::error::{Error, Result};
use crate::files::{LOG_DIR, partition_dir};
use crate::options::Options;
use alluvium_env::Env;
use std::path::Path;

/// The unit in which file systems allocate space.
const BLOCK_BYTES: u64 = 4 << 10;
/// A small segment of the log, and the block for the extents of the file.
const SEGMENT_BYTES: u64 = (64 << 10) + BLOCK_BYTES;

/// Explains the error of an opening. If the log is too large for the memory budget, or the disk too full, the new error
/// says how much is enough.
pub(super) fn explain(error: Error, env: &Env, path: &Path, partitions: u32, options: &Options) -> Error {
    let explained = match &error {
        Error::Storage(cause) if cause.is_overlay_full() => log_too_large(env, path, partitions),
        Error::Storage(cause) if cause.is_no_space() => no_space(error.clone(), env, path, partitions, options),
        _ => return error,
    };
    explained.unwrap_or(error)
}

/// A memory budget that is certainly enough to read the log: the files that are made from the log, and the manifests,
/// take at most two fifths of it.
fn log_too_large(env: &Env, path: &Path, partitions: u32) -> Result<Error> {
    let log_bytes = log_bytes(env, path)?;
    let manifests = manifests(env, path, partitions)?.iter().sum::<u64>();
    let kept = uncompressed(env, path, log_bytes)? / 8 * 9 + manifests + u64::from(partitions + 1) * SEGMENT_BYTES;
    let needed_bytes = (kept / 2 * 5).next_multiple_of(1 << 20);
    Ok(Error::LogTooLarge { path: path.to_owned(), log_bytes, needed_bytes })
}

/// Computes the space of the new manifests and the new segment of the log, with a few edits each. If memtables may not
/// hold the log, adds the files that are made from the log.
fn no_space(cause: Error, env: &Env, path: &Path, partitions: u32, options: &Options) -> Result<Error> {
    let blocks = |bytes: &u64| bytes.next_multiple_of(BLOCK_BYTES) + 3 * BLOCK_BYTES;
    let needed_bytes = manifests(env, path, partitions)?.iter().map(blocks).sum::<u64>() + SEGMENT_BYTES;
    // Small entries take several times their length in a memtable.
    let log_bytes = uncompressed(env, path, log_bytes(env, path)?)?;
    let flushed = if log_bytes > options.memtable_bytes() as u64 / 4 { log_bytes / 8 * 9 } else { 0 };
    let needed_bytes = needed_bytes + flushed;
    let available_bytes = env.fs.available_bytes(path).unwrap_or(0);
    let (path, files, cause) = (path.to_owned(), u64::from(partitions) + 1, Box::new(cause));
    Ok(Error::NoSpaceToOpen { path, needed_bytes, files, available_bytes, cause })
}

fn log_bytes(env: &Env, path: &Path) -> Result<u64> {
    Ok(lengths(env, &path.join(LOG_DIR), "wal-")?.iter().sum())
}

/// The bytes of the log's records before compression, or the bytes of the log if these are more.
fn uncompressed(env: &Env, path: &Path, log_bytes: u64) -> Result<u64> {
    let mut bytes = 0;
    for (number, segment) in alluvium_wal::list_segments(env, &path.join(LOG_DIR))? {
        let walk = alluvium_wal::Walk { number, ..alluvium_wal::Walk::default() };
        bytes += alluvium_wal::walk_segment(env, &segment, walk, &mut |_| Ok(()))?.payload_bytes;
    }
    Ok(bytes.max(log_bytes))
}

/// The length of the largest manifest of each partition.
fn manifests(env: &Env, path: &Path, partitions: u32) -> Result<Vec<u64>> {
    let largest = |index| -> Result<u64> {
        Ok(lengths(env, &path.join(partition_dir(index)), "MANIFEST-")?.into_iter().max().unwrap_or(0))
    };
    (0..partitions).map(largest).collect()
}

fn lengths(env: &Env, dir: &Path, prefix: &str) -> Result<Vec<u64>> {
    let entries = env.fs.list(dir)?;
    Ok(entries.iter().filter(|entry| entry.name.starts_with(prefix)).map(|entry| entry.len).collect())
}

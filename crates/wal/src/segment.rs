//! Segment files: names and creation.

use crate::layout::{FOLLOWED_AT, GROUPS_AT, Header, Seeds, encode_followed};
use crate::types::{Options, Purpose};
use alluvium_codec::entry::Seq;
use alluvium_env::{Env, Error, File, OpenMode, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub number: u64,
    pub first_seq: Seq,
    /// The last number in the segment; `first_seq - 1` if the segment is empty.
    pub last_seq: Seq,
    pub bytes: u64,
}

/// The file of the segment with `number`.
pub(crate) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("wal-{number:020}.log"))
}

/// The number of the segment file called `name`.
pub(crate) fn number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("wal-")?.strip_suffix(".log")?;
    let canonical = digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| canonical)
}

/// The reason why a segment could not be created.
pub(crate) enum NotCreated {
    /// Nothing has changed.
    Unchanged(Error),
    /// The segment may or may not exist after a crash.
    Unknown(Error),
}

impl From<NotCreated> for Error {
    fn from(not: NotCreated) -> Self {
        match not {
            NotCreated::Unchanged(error) | NotCreated::Unknown(error) => error,
        }
    }
}

/// When space is short, a segment has a multiple of this many bytes.
const SMALL: u64 = 64 << 10;
/// The smallest step by which a file grows on most file systems.
const PAGE: u64 = 4 << 10;

/// The length of a segment with room for `len` bytes of groups.
pub(crate) fn whole(options: &Options, len: u64) -> u64 {
    options.segment_bytes.max(GROUPS_AT + len)
}

/// The length of the next segment, with room for `len` bytes of groups. Returns [`whole`] if that
/// leaves the reserve free. Otherwise returns the smallest length that the purpose allows, so that
/// later groups do not take the reserve.
///
/// # Errors
/// The error of a full disk ([`Error::is_no_space`]), if no length leaves enough space free.
pub(crate) fn length(env: &Env, dir: &Path, options: &Options, len: u64, purpose: Purpose) -> Result<u64> {
    let whole = whole(options, len);
    if options.reserve_bytes == 0 {
        return Ok(whole);
    }
    // If the free space is unknown, the creation of the segment decides.
    let Ok(free) = env.fs.available_bytes(dir) else { return Ok(whole) };
    if free >= whole.saturating_add(options.reserve_bytes) {
        return Ok(whole);
    }
    let (small, least) = (small(len).min(whole), (GROUPS_AT + len).next_multiple_of(PAGE).min(whole));
    match purpose {
        Purpose::Upkeep => Ok(if free >= small { small } else { least }),
        Purpose::Removal if free >= small.saturating_add(options.reserve_bytes / 2) => Ok(small),
        Purpose::Removal | Purpose::Growth => {
            let what = format!(
                "{free} bytes are free, and {} are kept so that flushes and compactions can finish \
                 (disk_reserve_bytes)",
                options.reserve_bytes
            );
            Err(Error::io("create a log segment in", dir, io::Error::new(io::ErrorKind::StorageFull, what)))
        }
    }
}

/// The length of a segment when space is short.
pub(crate) fn small(len: u64) -> u64 {
    (GROUPS_AT + len).next_multiple_of(SMALL)
}

/// Creates a segment of `bytes`, or of `small` bytes if there is too little space; returns its
/// length.
pub(crate) fn create_any(
    env: &Env,
    dir: &Path,
    header: &Header,
    bytes: u64,
    small: Option<u64>,
) -> std::result::Result<(Arc<dyn File>, u64), NotCreated> {
    match (create(env, dir, header, bytes), small.filter(|small| *small < bytes)) {
        (Err(NotCreated::Unchanged(error)), Some(small)) if error.is_no_space() => {
            create(env, dir, header, small).map(|file| (file, small))
        }
        (made, _) => made.map(|file| (file, bytes)),
    }
}

/// Creates a segment of `bytes`, and makes its name and header durable.
///
/// The header names the end of the previous segment, which must not grow once this header may be on
/// disk. Therefore, on failure, either the file is durably removed, or the outcome is unknown.
pub(crate) fn create(
    env: &Env,
    dir: &Path,
    header: &Header,
    bytes: u64,
) -> std::result::Result<Arc<dyn File>, NotCreated> {
    let path = path(dir, header.number);
    let file = reserve(env, &path, bytes).map_err(NotCreated::Unchanged)?;
    // The length is made durable first: a header in a file that ends before its first group counts
    // as damage.
    file.sync().map_err(NotCreated::Unknown)?;
    if let Err(error) = file.write_at(&header.encode(), 0) {
        let gone = env.fs.remove(&path).and_then(|()| env.fs.sync_dir(dir));
        return Err(match gone {
            Ok(()) => NotCreated::Unchanged(error),
            Err(_) => NotCreated::Unknown(error),
        });
    }
    file.sync().and_then(|()| env.fs.sync_dir(dir)).map_err(NotCreated::Unknown)?;
    Ok(file)
}

/// Creates a file of zeros. A file that remains after a failed attempt has no header, so recovery
/// and the next attempt remove it.
fn reserve(env: &Env, path: &Path, bytes: u64) -> Result<Arc<dyn File>> {
    if env.fs.exists(path)? {
        env.fs.remove(path)?;
    }
    let file = env.fs.open(path, OpenMode::CreateNew)?;
    match file.allocate(bytes.max(GROUPS_AT)) {
        Ok(()) => Ok(file),
        Err(error) => {
            // The first error is returned. The file may remain; recovery or the next attempt
            // removes it.
            let _ = env.fs.remove(path);
            Err(error)
        }
    }
}

/// Writes the mark that the next segment follows into a closed segment, after the next segment is
/// durable, so that the loss of the next segment is detected. Nothing else depends on the mark: the
/// write may fail, or may not be durable.
pub(crate) fn mark_followed(file: &dyn File, seeds: Seeds, number: u64) {
    let _ = file.write_at(&encode_followed(number + 1, seeds), FOLLOWED_AT);
}

/// Truncates a closed segment to its end. The truncation may fail, or may not be durable, because
/// the next segment's header names the end.
pub(crate) fn trim(file: &dyn File, segment: &mut Segment, end: u64) {
    if segment.bytes > end && file.set_len(end).is_ok() {
        segment.bytes = end;
    }
}

#[cfg(test)]
mod tests;

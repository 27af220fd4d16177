//! Segment files: names, and how one is made.

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
    /// `first_seq - 1` if it holds nothing.
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

/// Why a segment could not be made.
pub(crate) enum NotCreated {
    /// All is as it was before.
    Unchanged(Error),
    /// It may or may not be there after a crash.
    Unknown(Error),
}

impl From<NotCreated> for Error {
    fn from(not: NotCreated) -> Self {
        match not {
            NotCreated::Unchanged(error) | NotCreated::Unknown(error) => error,
        }
    }
}

/// A segment that must be small for want of space has so many bytes, or a multiple.
const SMALL: u64 = 64 << 10;
/// The least that a file grows by on most file systems.
const PAGE: u64 = 4 << 10;

/// The length of a segment with room for `len` bytes of groups.
pub(crate) fn whole(options: &Options, len: u64) -> u64 {
    options.segment_bytes.max(GROUPS_AT + len)
}

/// The length of the next segment, with room for `len` bytes of groups: [`whole`] if that leaves
/// the reserve free, else as little as its purpose allows, so that what comes behind the group
/// does not take the reserve.
///
/// # Errors
/// No space, by [`Error::is_no_space`]: nothing that leaves enough is long enough.
pub(crate) fn length(env: &Env, dir: &Path, options: &Options, len: u64, purpose: Purpose) -> Result<u64> {
    let whole = whole(options, len);
    if options.reserve_bytes == 0 {
        return Ok(whole);
    }
    // Where nobody knows how much is free, making the segment will tell.
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
            Err(Error::io("make a log segment in", dir, io::Error::new(io::ErrorKind::StorageFull, what)))
        }
    }
}

/// The length of a segment for want of space.
pub(crate) fn small(len: u64) -> u64 {
    (GROUPS_AT + len).next_multiple_of(SMALL)
}

/// Makes a segment of `bytes`, or of `small` bytes if there is no space for so many; says of how
/// many.
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

/// Makes a segment of `bytes`, and makes it durable, name and header.
///
/// Its header names the end of the segment before, which must not grow any more once that
/// header may be on disk: so on failure the file is gone for good, or the outcome is unknown.
pub(crate) fn create(
    env: &Env,
    dir: &Path,
    header: &Header,
    bytes: u64,
) -> std::result::Result<Arc<dyn File>, NotCreated> {
    let path = path(dir, header.number);
    let file = reserve(env, &path, bytes).map_err(NotCreated::Unchanged)?;
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

/// Makes a file of zeros. What a failed attempt leaves behind has no header, so that recovery
/// removes it, and the next attempt too.
fn reserve(env: &Env, path: &Path, bytes: u64) -> Result<Arc<dyn File>> {
    if env.fs.exists(path)? {
        env.fs.remove(path)?;
    }
    let file = env.fs.open(path, OpenMode::CreateNew)?;
    match file.allocate(bytes.max(GROUPS_AT)) {
        Ok(()) => Ok(file),
        Err(error) => {
            // The error that counts is the first; see above for what this one may leave.
            let _ = env.fs.remove(path);
            Err(error)
        }
    }
}

/// Says in a closed segment that the next one was begun, once that is durable, so that its loss is noticed. It matters to
/// nobody else if that fails or is not durable.
pub(crate) fn mark_followed(file: &dyn File, seeds: Seeds, number: u64) {
    let _ = file.write_at(&encode_followed(number + 1, seeds), FOLLOWED_AT);
}

/// Cuts a closed segment behind its end. It matters to nobody if that fails or is not durable:
/// where the segment ends is in the next one's header.
pub(crate) fn trim(file: &dyn File, segment: &mut Segment, end: u64) {
    if segment.bytes > end && file.set_len(end).is_ok() {
        segment.bytes = end;
    }
}

#[cfg(test)]
mod tests;

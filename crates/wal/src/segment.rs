//! Segment files: names, and how one is made.

use crate::layout::{GROUPS_AT, Header};
use env::{Env, Error, File, OpenMode, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

#[cfg(test)]
mod tests;

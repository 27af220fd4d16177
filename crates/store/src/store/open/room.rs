//! Frees disk space for an opening: the space that a killed process had reserved at the end of the log.
//!
//! A segment is created with its full length. When a log is closed, its unused end is freed. After a process was
//! killed, recovery frees the unused end, but first it writes manifests and a segment, for which a full disk has no
//! space.

use super::open_once;
use crate::error::Result;
use crate::files::{self, LOCK_NAME, LOG_DIR};
use crate::options::Options;
use alluvium_env::{DirEntry, Env, OpenMode};
use std::path::Path;

/// Frees the unused end of the log. Returns false without an unused end, or if the log is not known to be undamaged.
///
/// First recovers the database in memory ([`Options::read_only`]), so that an opening that is refused for damage
/// changes nothing. The recovery in memory frees the end of the log there.
pub(super) fn make(env: &Env, path: &Path, options: &Options) -> Result<bool> {
    let reader = open_once(env.clone(), path, Options { read_only: true, ..options.clone() })?;
    let dir = path.join(LOG_DIR);
    let after = reader.env().fs.list(&dir)?;
    reader.close()?;
    let Some(env) = files::hold(env, path)? else { return Ok(false) };
    let Some(_lock) = env.fs.try_lock(&path.join(LOCK_NAME))? else { return Ok(false) };
    let Some(last) = env.fs.list(&dir)?.pop() else { return Ok(false) };
    // If another process has opened the database in the meantime, the log has another last segment.
    let shorter = |entry: &&DirEntry| entry.name == last.name && entry.len < last.len;
    let Some(whole) = after.iter().find(shorter) else { return Ok(false) };
    let file = env.fs.open(&dir.join(&last.name), OpenMode::ReadWrite)?;
    file.set_len(whole.len)?;
    file.sync()?;
    Ok(true)
}

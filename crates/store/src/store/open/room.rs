//! Space for an opening on a full disk: what a killed process had reserved at the end of the log.
//!
//! A segment is as long as it may become. The unused rest of a closed log is freed; of a process
//! that was killed, recovery frees it, but only after it has written manifests and a segment.

use super::open_once;
use crate::error::Result;
use crate::files::{self, LOCK_NAME, LOG_DIR};
use crate::options::Options;
use alluvium_env::{DirEntry, Env, OpenMode};
use std::path::Path;

/// Frees the unused end of the log; false if it has no such end, or is not known to be whole.
///
/// The database is recovered in memory first ([`Options::read_only`]): an opening that is refused
/// for damage changes nothing. In memory, that frees the end of the log, too.
pub(super) fn make(env: &Env, path: &Path, options: &Options) -> Result<bool> {
    let reader = open_once(env.clone(), path, Options { read_only: true, ..options.clone() })?;
    let dir = path.join(LOG_DIR);
    let after = reader.env().fs.list(&dir)?;
    reader.close()?;
    let Some(env) = files::hold(env, path)? else { return Ok(false) };
    let Some(_lock) = env.fs.try_lock(&path.join(LOCK_NAME))? else { return Ok(false) };
    let Some(last) = env.fs.list(&dir)?.pop() else { return Ok(false) };
    // If another process has opened the database since, there is another last segment.
    let shorter = |entry: &&DirEntry| entry.name == last.name && entry.len < last.len;
    let Some(whole) = after.iter().find(shorter) else { return Ok(false) };
    let file = env.fs.open(&dir.join(&last.name), OpenMode::ReadWrite)?;
    file.set_len(whole.len)?;
    file.sync()?;
    Ok(true)
}

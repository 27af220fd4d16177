//! The directory of a database: the names of its files, and the files that describe the whole database.

pub(crate) mod listing;
pub(crate) mod superblock;

use crate::error::{Error, Result};
use alluvium_env::{DirEntry, Env};
use std::path::Path;

/// The file that a process locks to open the database.
pub(crate) const LOCK_NAME: &str = "LOCK";
/// The directory of the write-ahead log.
pub(crate) const LOG_DIR: &str = "wal";
/// The prefix of the directories in which readers keep the files of an external sort. Opening a
/// database removes a directory whose name is this prefix and 16 lowercase hexadecimal digits.
pub const SORT_PREFIX: &str = "sort-";

/// The name of the directory of a partition.
pub(crate) fn partition_dir(index: u32) -> String {
    format!("p{index:03}")
}

/// The number of the partition whose directory has this name.
pub(crate) fn partition_of_dir(name: &str) -> Option<u32> {
    name.strip_prefix('p').filter(|digits| digits.len() == 3)?.parse::<u16>().ok().map(u32::from)
}

/// True for the name of the directory of an external sort.
pub(crate) fn is_sort_dir(name: &str) -> bool {
    let digits = name.strip_prefix(SORT_PREFIX).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// True if the directory holds a checkpoint.
///
/// # Errors
/// [`Error::Storage`] if the file system does not answer.
pub fn is_checkpoint(env: &Env, dir: &Path) -> Result<bool> {
    Ok(env.fs.exists(&dir.join(listing::NAME))?)
}

/// True if the directory has a superblock, and thus a store, which may be damaged.
///
/// # Errors
/// [`Error::Storage`] if the file system does not answer.
pub fn is_store(env: &Env, dir: &Path) -> Result<bool> {
    Ok(env.fs.exists(&dir.join(superblock::NAME))?)
}

/// The environment with the directory `dir` held open (see [`alluvium_env::Fs::hold_dir`]); `None` if there is no
/// directory of that name.
pub(crate) fn hold(env: &Env, dir: &Path) -> Result<Option<Env>> {
    match env.hold_dir(dir) {
        Ok(held) => Ok(Some(held)),
        Err(error) if error.is_not_found() || error.is_not_a_directory() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The entries of the directory of a store. Returns [`Error::NotADatabase`] if the path is not a directory.
pub(crate) fn list(env: &Env, path: &Path) -> Result<Vec<DirEntry>> {
    env.fs.list(path).map_err(|error| match error.is_not_a_directory() {
        true => Error::NotADatabase(path.to_owned()),
        false => error.into(),
    })
}

/// Makes the directory `path` and its missing parents, and makes their names durable. The name of an existing directory
/// is also made durable, because the process that made the directory need not have synced it.
pub(crate) fn make_directory(env: &Env, path: &Path) -> Result<()> {
    Ok(alluvium_env::create_dir_durably(&env.fs, path)?)
}

/// Removes a file, or a directory with everything in it.
pub(crate) fn remove_all(env: &Env, path: &Path, is_dir: bool) -> Result<()> {
    if !is_dir {
        return Ok(env.fs.remove(path)?);
    }
    for entry in env.fs.list(path)? {
        remove_all(env, &path.join(&entry.name), entry.is_dir)?;
    }
    Ok(env.fs.remove_dir(path)?)
}

//! The lock of a database: on a file, and on the directory that it is in.

use super::OsFile;
use super::held::{FileId, Place};
use crate::error::Result;
use crate::fs::FileLock;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::OwnedFd;

/// A file is locked again this many times if another one has its name by then.
const MOST_TRIES: usize = 16;

/// A held lock. The system releases it when the descriptors are closed, also by the process's death.
pub(super) struct OsLock {
    _file: std::fs::File,
    _dir: Option<OwnedFd>,
}

impl FileLock for OsLock {}

impl OsLock {
    /// Locks the file at `place`, and the held directory that it is an entry of.
    pub fn take(place: &Place<'_>, create: bool) -> Result<Option<Self>> {
        for _ in 0..MOST_TRIES {
            let file = OsFile::open_to_lock(place, create)?;
            // `flock` belongs to this open file, so a second open in the same process is refused
            // too.
            match lock(&file) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(errno) => return Err(place.error("lock", errno)),
            }
            // The file may have been removed, or replaced by another one, before it was locked.
            let own = rustix::fs::fstat(&file).map_err(|errno| place.error("look at", errno))?;
            match rustix::fs::statat(place.dir, place.path, AtFlags::empty()) {
                Ok(named) if FileId::of(&named) == FileId::of(&own) => {
                    let Some(dir) = lock_dir(place)? else { return Ok(None) };
                    return Ok(Some(Self { _file: file, _dir: dir }));
                }
                Ok(_) => {}
                Err(Errno::NOENT) if create => place.check()?,
                Err(errno) => return Err(place.error("look at", errno)),
            }
        }
        Ok(None)
    }
}

/// Takes the lock of an open file or directory; false if it is held.
fn lock(file: impl std::os::fd::AsFd) -> rustix::io::Result<bool> {
    match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Locks the held directory itself, so that a lock file that is removed lets no second process in.
/// The outer `None`: it is locked. The inner one: file systems that lock no directories (some
/// network ones) have the lock of the file alone.
fn lock_dir(place: &Place<'_>) -> Result<Option<Option<OwnedFd>>> {
    if !place.is_entry_of_held() {
        return Ok(Some(None));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = retry_on_intr(|| rustix::fs::openat(place.dir, ".", flags, Mode::empty()));
    let dir = dir.map_err(|errno| place.error("open", errno))?;
    Ok(match lock(&dir) {
        Ok(true) => Some(Some(dir)),
        Ok(false) => None,
        Err(_) => Some(None),
    })
}

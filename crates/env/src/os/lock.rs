//! The lock of a database: a lock on a file, and a lock on the directory that contains the file.

use super::OsFile;
use super::held::{FileId, Place};
use crate::error::Result;
use crate::fs::FileLock;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, OwnedFd};

/// The number of attempts, if each time another file has the name by the time the lock is taken.
const MOST_TRIES: usize = 16;

/// The number of processes that may hold the lock at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockKind {
    /// One holder. The lock file is created if it is missing.
    Exclusive,
    /// Any number of readers. No file is created.
    Shared,
}

/// The lock files that this process has locked. A file occurs once for each lock on it.
static HELD_HERE: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

/// True if this process has locked the file.
pub(super) fn is_held_here(place: &Place<'_>) -> bool {
    let found = rustix::fs::statat(place.dir, place.path, AtFlags::empty());
    found.is_ok_and(|found| HELD_HERE.lock().contains(&FileId::of(&found)))
}

/// A held lock. The system releases the lock when the descriptors are closed, and also when the process dies.
pub(super) struct OsLock {
    /// The locked file; `None` if no lock file exists and only the directory is locked.
    _file: Option<(std::fs::File, Noted)>,
    _dir: Option<OwnedFd>,
}

impl FileLock for OsLock {}

/// An entry in `HELD_HERE`, which is removed on drop.
struct Noted(FileId);

impl Noted {
    fn new(file: FileId) -> Self {
        HELD_HERE.lock().push(file);
        Self(file)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut held = HELD_HERE.lock();
        if let Some(at) = held.iter().position(|file| *file == self.0) {
            held.swap_remove(at);
        }
    }
}

/// The result of locking a held directory itself.
enum DirLock {
    Taken(OwnedFd),
    /// Another process has the lock.
    Held,
    /// The place is not an entry of a held directory.
    NotHeldOpen,
    /// The file system cannot lock directories, like some network file systems.
    Unsupported(Errno),
}

impl OsLock {
    /// Locks the file at `place`, and the held directory that contains it.
    pub fn take(place: &Place<'_>, kind: LockKind) -> Result<Option<Self>> {
        for _ in 0..MOST_TRIES {
            let file = match OsFile::open_to_lock(place, kind == LockKind::Exclusive) {
                Err(error) if kind == LockKind::Shared && error.is_not_found() && place.is_entry_of_held() => {
                    return Self::without_file(place);
                }
                opened => opened?,
            };
            // `flock` belongs to this open file, so a second open in the same process is refused
            // too.
            match lock(&file, kind) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(errno) => return Err(place.error("lock", errno)),
            }
            // The file may have been removed, or replaced by another one, before it was locked.
            let own = rustix::fs::fstat(&file).map_err(|errno| place.error("look at", errno))?;
            match rustix::fs::statat(place.dir, place.path, AtFlags::empty()) {
                Ok(named) if FileId::of(&named) == FileId::of(&own) => {
                    let file = Some((file, Noted::new(FileId::of(&own))));
                    return Ok(match lock_dir(place, kind)? {
                        DirLock::Taken(dir) => Some(Self { _file: file, _dir: Some(dir) }),
                        DirLock::NotHeldOpen | DirLock::Unsupported(_) => Some(Self { _file: file, _dir: None }),
                        DirLock::Held => None,
                    });
                }
                Ok(_) => {}
                Err(Errno::NOENT) if kind == LockKind::Exclusive || place.is_entry_of_held() => place.check()?,
                Err(errno) => return Err(place.error("look at", errno)),
            }
        }
        Ok(None)
    }

    /// Takes the lock of a reader in a directory without a lock file. A writer creates the lock file, and also needs
    /// the lock of the directory, so the directory lock is sufficient.
    fn without_file(place: &Place<'_>) -> Result<Option<Self>> {
        match lock_dir(place, LockKind::Shared)? {
            DirLock::Taken(dir) => Ok(Some(Self { _file: None, _dir: Some(dir) })),
            DirLock::Held => Ok(None),
            DirLock::NotHeldOpen => Err(place.error("open", Errno::NOENT)),
            DirLock::Unsupported(errno) => Err(place.error("lock the directory of the missing", errno)),
        }
    }
}

/// Locks an open file or directory. Returns false if the lock is held already.
fn lock(file: impl AsFd, kind: LockKind) -> rustix::io::Result<bool> {
    let operation = match kind {
        LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
        LockKind::Shared => FlockOperation::NonBlockingLockShared,
    };
    match retry_on_intr(|| flock(&file, operation)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Locks the held directory itself, so that a second process is excluded even if the lock file is removed.
fn lock_dir(place: &Place<'_>, kind: LockKind) -> Result<DirLock> {
    if !place.is_entry_of_held() {
        return Ok(DirLock::NotHeldOpen);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = retry_on_intr(|| rustix::fs::openat(place.dir, ".", flags, Mode::empty()));
    let dir = dir.map_err(|errno| place.error("open", errno))?;
    Ok(match lock(&dir, kind) {
        Ok(true) => DirLock::Taken(dir),
        Ok(false) => DirLock::Held,
        Err(errno) => DirLock::Unsupported(errno),
    })
}

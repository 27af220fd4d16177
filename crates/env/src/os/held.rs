//! Directories that are held open, and the resolution of paths in them.

use crate::error::{Error, Result};
use rustix::fs::{AtFlags, CWD, Mode, RawMode, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// An open directory. Paths at or below the path with which it was opened are resolved in it, even
/// if something else has that path now.
pub(super) struct HeldDir {
    path: PathBuf,
    dir: OwnedFd,
    id: FileId,
    /// The permissions of the directory, as the bits of `chmod`.
    permissions: RawMode,
}

/// The identity of a file or a directory, independent of its name: device and inode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    // The types of these numbers depend on the operating system.
    #[allow(clippy::unnecessary_cast)]
    pub fn of(found: &Stat) -> Self {
        Self(found.st_dev as u64, found.st_ino as u64)
    }
}

impl HeldDir {
    pub fn new(path: &Path, dir: OwnedFd) -> Result<Self> {
        let found = rustix::fs::fstat(&dir).map_err(|errno| Error::io("look at", path, errno.into()))?;
        Ok(Self { path: path.to_owned(), dir, id: FileId::of(&found), permissions: found.st_mode })
    }

    /// The rest of a path that is at or below this directory; `None` for other paths. A path with
    /// `..` counts as another path, because its target depends on the name of the directory.
    pub fn inside<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let inside = path.strip_prefix(&self.path).ok()?;
        let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
        is_plain.then_some(inside)
    }

    /// True if the directory was removed, so that it has no name and cannot get new entries.
    fn is_removed(&self) -> bool {
        rustix::fs::fstat(&self.dir).is_ok_and(|found| found.st_nlink == 0)
    }

    /// The permissions of a new file: the permissions of the directory without the right to
    /// execute.
    pub fn of_new_files(&self) -> Mode {
        Mode::from_raw_mode(self.permissions & 0o666 | 0o600)
    }

    /// The permissions of a new directory: the same as of this directory.
    pub fn of_new_dirs(&self) -> Mode {
        Mode::from_raw_mode(self.permissions & 0o777 | 0o700)
    }

    /// Returns an error unless `place` is the name of this directory.
    pub fn check_name(&self, place: &Place<'_>) -> Result<()> {
        if self.is_removed() {
            return Err(Error::removed(&self.path));
        }
        match rustix::fs::statat(place.dir, place.path, AtFlags::empty()) {
            Ok(found) if FileId::of(&found) == self.id => Ok(()),
            Ok(_) | Err(Errno::NOENT) => Err(Error::moved(&self.path)),
            Err(errno) => Err(place.error("look at", errno)),
        }
    }
}

/// A path as it is passed to the system: relative to an open directory.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The open directory.
    pub dir: BorrowedFd<'a>,
    /// The path relative to `dir`; `.` for the directory itself.
    pub path: &'a Path,
    /// The path for messages.
    pub shown: &'a Path,
    /// The directory, if it is a held one.
    pub held: Option<&'a HeldDir>,
}

impl<'a> Place<'a> {
    /// A path that is not in a held directory.
    pub fn new(path: &'a Path) -> Self {
        Self { dir: CWD, path, shown: path, held: None }
    }

    /// The path `inside`, relative to a held directory.
    pub fn in_held(held: &'a HeldDir, inside: &'a Path, shown: &'a Path) -> Self {
        let path = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        Self { dir: held.dir.as_fd(), path, shown, held: Some(held) }
    }

    /// True for a direct entry of the held directory, not for an entry of a subdirectory.
    pub fn is_entry_of_held(&self) -> bool {
        self.held.is_some() && self.path.components().count() == 1 && self.path != Path::new(".")
    }

    /// The error of the operation `op`, for which the system returned `errno`.
    pub fn error(&self, op: &'static str, errno: Errno) -> Error {
        self.gone(errno).unwrap_or_else(|| Error::io(op, self.shown, errno.into()))
    }

    /// The error to return instead of `errno` if the cause of `errno` is the removal of the held
    /// directory.
    pub fn gone(&self, errno: Errno) -> Option<Error> {
        let held = self.held?;
        let is_gone = match errno {
            Errno::NOENT | Errno::NOTDIR => held.is_removed(),
            // A network file system returns this for a directory that no longer exists on the
            // server.
            Errno::STALE => true,
            _ => false,
        };
        is_gone.then(|| Error::removed(&held.path))
    }

    /// Returns an error if the held directory was removed.
    pub fn check(&self) -> Result<()> {
        match self.held.filter(|held| held.is_removed()) {
            Some(held) => Err(Error::removed(&held.path)),
            None => Ok(()),
        }
    }
}

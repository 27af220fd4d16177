//! The file system of the operating system.
//!
//! Every operation uses a path relative to an open directory: a directory that is held open
//! ([`Fs::hold_dir`]) for paths at or below it, and the working directory for all other paths.

// This module uses the calls and types that clippy.toml bans elsewhere.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod file;
mod held;
mod lock;

use crate::direct::DirectFile;
use crate::error::{Error, Result};
use crate::fs::{DirEntry, File, FileLock, Fs, OpenMode};
use file::OsFile;
use held::{HeldDir, Place};
use lock::{LockKind, OsLock};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatVfs};
use rustix::io::{Errno, retry_on_intr};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The operating system's files. All descriptors are close-on-exec.
#[derive(Clone, Default)]
pub(crate) struct OsFs {
    /// The held directories, the newest last.
    held: Vec<Arc<HeldDir>>,
}

impl OsFs {
    /// A file system without held directories.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The place of the content of `path`. For the path of a held directory, this is the open
    /// directory.
    fn place<'a>(&'a self, path: &'a Path) -> Place<'a> {
        let found = self.held.iter().rev().find_map(|held| Some((held, held.inside(path)?)));
        match found {
            Some((held, inside)) => Place::in_held(held, inside, path),
            None => Place::new(path),
        }
    }

    /// The statistics of the file system that contains `path`.
    fn volume(&self, path: &Path) -> Result<StatVfs> {
        let place = self.place(path);
        let found = match place.held {
            None => rustix::fs::statvfs(path),
            Some(_) => {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = retry_on_intr(|| rustix::fs::openat(place.dir, place.path, flags, Mode::empty()));
                opened.and_then(rustix::fs::fstatvfs)
            }
        };
        found.map_err(|errno| place.error("read the free space at", errno))
    }

    /// The place of the name `path`. For the path of a held directory, this is its name in the
    /// parent directory.
    fn place_of_name<'a>(&'a self, path: &'a Path) -> Result<Place<'a>> {
        let mut itself = None;
        let mut above = None;
        for held in self.held.iter().rev() {
            match held.inside(path) {
                Some(inside) if inside.as_os_str().is_empty() => itself = itself.or(Some(held)),
                Some(inside) => {
                    above = Some(Place::in_held(held, inside, path));
                    break;
                }
                None => {}
            }
        }
        let place = above.unwrap_or_else(|| Place::new(path));
        if let Some(held) = itself {
            held.check_name(&place)?;
        }
        Ok(place)
    }

    fn open_dir(&self, path: &Path, op: &'static str) -> Result<OwnedFd> {
        let place = self.place(path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| rustix::fs::openat(place.dir, place.path, flags, Mode::empty()));
        opened.map_err(|errno| place.error(op, errno))
    }

    fn lock(&self, path: &Path, kind: LockKind) -> Result<Option<Box<dyn FileLock>>> {
        Ok(OsLock::take(&self.place(path), kind)?.map(|lock| Box::new(lock) as Box<dyn FileLock>))
    }

    fn device(&self, path: &Path) -> Result<u64> {
        let place = self.place(path);
        let found = rustix::fs::statat(place.dir, place.path, AtFlags::empty());
        // The type of device numbers depends on the operating system.
        #[allow(clippy::unnecessary_cast)]
        found.map(|found| found.st_dev as u64).map_err(|errno| place.error("look at", errno))
    }
}

impl Fs for OsFs {
    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        let held = HeldDir::new(dir, self.open_dir(dir, "open")?)?;
        let mut all = self.held.clone();
        all.push(Arc::new(held));
        Ok(Arc::new(Self { held: all }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        Ok(Arc::new(OsFile::open(&self.place(path), mode)?))
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let place = self.place(path);
        if mode == OpenMode::Read {
            let file = Arc::new(OsFile::open_direct(&place, mode)?);
            return Ok(Arc::new(DirectFile::new(file.clone(), file)));
        }
        let plain = Arc::new(OsFile::open(&place, mode)?);
        match OsFile::open_direct(&place, OpenMode::ReadWrite) {
            Ok(direct) => Ok(Arc::new(DirectFile::new(Arc::new(direct), plain))),
            Err(error) => {
                if mode == OpenMode::CreateNew {
                    // The error of the removal is ignored; the first error is returned.
                    let _left = self.remove(path);
                }
                Err(error)
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let (old, new) = (self.place_of_name(from)?, self.place_of_name(to)?);
        let renamed = rustix::fs::renameat(old.dir, old.path, new.dir, new.path);
        renamed.map_err(|errno| new.gone(errno).unwrap_or_else(|| old.error("rename", errno)))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let place = self.place_of_name(path)?;
        let removed = rustix::fs::unlinkat(place.dir, place.path, AtFlags::empty());
        removed.map_err(|errno| place.error("remove", errno))
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let place = self.place(path);
        let Some(held) = place.held else {
            let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            return created.map_err(|source| Error::io("create", path, source));
        };
        let mut made = PathBuf::new();
        for part in place.path.components() {
            made.push(part);
            match rustix::fs::mkdirat(place.dir, &made, held.of_new_dirs()) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(place.error("create", errno)),
            }
        }
        let found = rustix::fs::statat(place.dir, place.path, AtFlags::empty());
        match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
            Ok(FileType::Directory) => Ok(()),
            Ok(_) => Err(place.error("create", Errno::EXIST)),
            Err(errno) => Err(place.error("create", errno)),
        }
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        let place = self.place_of_name(path)?;
        let removed = rustix::fs::unlinkat(place.dir, place.path, AtFlags::REMOVEDIR);
        removed.map_err(|errno| place.error("remove", errno))
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let place = self.place(dir);
        let failed = |errno| place.error("list", errno);
        let opened = self.open_dir(dir, "list")?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&opened).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if [b".".as_slice(), b".."].contains(&entry.file_name().to_bytes()) {
                continue;
            }
            let found = match rustix::fs::statat(&opened, entry.file_name(), AtFlags::empty()) {
                // The entry was removed since it was listed, or is a symbolic link without a
                // target.
                Err(Errno::NOENT) => continue,
                found => found.map_err(failed)?,
            };
            let is_dir = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            let len = if is_dir { 0 } else { u64::try_from(found.st_size).unwrap_or(0) };
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(DirEntry { name, len, is_dir });
        }
        if entries.is_empty() {
            // Some file systems list a removed directory as an empty one.
            place.check()?;
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let place = self.place(path);
        match rustix::fs::statat(place.dir, place.path, AtFlags::empty()) {
            Ok(_) => Ok(true),
            // `ENOTDIR` means that the path is below a file.
            Err(errno @ (Errno::NOENT | Errno::NOTDIR)) => place.gone(errno).map_or(Ok(false), Err),
            Err(errno) => Err(place.error("look for", errno)),
        }
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let place = self.place(dir);
        let opened = self.open_dir(dir, "open")?;
        retry_on_intr(|| rustix::fs::fsync(&opened)).map_err(|errno| place.error("sync", errno))?;
        // The sync of a removed directory may succeed, but makes no entries durable.
        place.check()
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        let (old, new) = (self.place(from), self.place_of_name(to)?);
        let linked = rustix::fs::linkat(old.dir, old.path, new.dir, new.path, AtFlags::empty());
        linked.map_err(|errno| old.gone(errno).unwrap_or_else(|| new.error("link", errno)))
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.lock(path, LockKind::Exclusive)
    }

    fn try_lock_to_read(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.lock(path, LockKind::Shared)
    }

    fn is_locked_here(&self, path: &Path) -> bool {
        lock::is_held_here(&self.place(path))
    }

    fn available_bytes(&self, path: &Path) -> Result<u64> {
        let found = self.volume(path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn capacity_bytes(&self, path: &Path) -> Result<u64> {
        let found = self.volume(path)?;
        Ok(found.f_blocks.saturating_mul(found.f_frsize))
    }

    fn is_same_disk(&self, one: &Path, other: &Path) -> Result<bool> {
        Ok(self.device(one)? == self.device(other)?)
    }

    /// Seven sixteenths of the descriptors that the process may have: the rest is for files that
    /// are being written, and for other files and sockets of the process.
    fn open_files_max(&self) -> Option<usize> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
        Some(usize::try_from(limit / 16 * 7).unwrap_or(usize::MAX).max(LEAST_OPEN_FILES))
    }
}

/// The minimum of the limit on open files, even if the process may have fewer descriptors.
const LEAST_OPEN_FILES: usize = 16;

/// Converts an `io::Result`.
trait At<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::io(op, path, source))
    }
}

#[cfg(test)]
mod tests;

//! The file system of the operating system.

// This module uses the calls and types that clippy.toml bans elsewhere.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::direct::{Blocks, DirectFile};
use crate::error::{Error, Result};
use crate::fs::{DirEntry, File, FileLock, Fs, OpenMode};
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The operating system's files. Every descriptor is closed on exec.
pub(crate) struct OsFs;

impl OsFs {
    /// A handle on it.
    pub(crate) fn new() -> Self {
        Self
    }
}

/// Converts an `io::Result`.
trait At<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::io(op, path, source))
    }
}

impl Fs for OsFs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        Ok(Arc::new(OsFile::open(path, mode, 0)?))
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        if mode == OpenMode::Read {
            let file = Arc::new(OsFile::open_direct(path, mode)?);
            return Ok(Arc::new(DirectFile::new(file.clone(), file)));
        }
        let plain = Arc::new(OsFile::open(path, mode, 0)?);
        match OsFile::open_direct(path, OpenMode::ReadWrite) {
            Ok(direct) => Ok(Arc::new(DirectFile::new(Arc::new(direct), plain))),
            Err(error) => {
                if mode == OpenMode::CreateNew {
                    // The first error is the one to return.
                    let _left = self.remove(path);
                }
                Err(error)
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).at("rename", from)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).at("remove", path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        fs::create_dir_all(path).at("create", path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        fs::remove_dir(path).at("remove", path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir).at("list", dir)? {
            let entry = entry.at("list", dir)?;
            let metadata = match fs::metadata(entry.path()) {
                // Removed since, or a symbolic link to nothing.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.at("list", dir)?,
            };
            let is_dir = metadata.is_dir();
            let len = if is_dir { 0 } else { metadata.len() };
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(DirEntry { name, len, is_dir });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        match path.try_exists() {
            // A path below a file.
            Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(false),
            found => found.at("look for", path),
        }
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let file = fs::File::open(dir).at("open", dir)?;
        file.sync_all().at("sync", dir)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        fs::hard_link(from, to).at("link", to)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        OsLock::take(options.open(path).at("open", path)?, path)
    }

    fn try_lock_to_read(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        OsLock::take(fs::File::open(path).at("open", path)?, path)
    }

    fn available_bytes(&self, path: &Path) -> Result<u64> {
        let stat = rustix::fs::statvfs(path).map_err(io::Error::from).at("read the free space at", path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn is_same_disk(&self, one: &Path, other: &Path) -> Result<bool> {
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).at("look at", path);
        Ok(device(one)? == device(other)?)
    }

    /// Half of the descriptors that the process may have: the rest is for its other files and
    /// sockets.
    fn open_files_max(&self) -> Option<usize> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
        Some(usize::try_from(limit / 2).unwrap_or(usize::MAX).max(LEAST_OPEN_FILES))
    }
}

/// The least bound on open files, even if the process may have fewer descriptors.
const LEAST_OPEN_FILES: usize = 16;

struct OsLock {
    _file: fs::File,
}

impl FileLock for OsLock {}

impl OsLock {
    fn take(file: fs::File, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        // `flock` on Linux: it belongs to this open file, so a second open in the same process is
        // refused too, and it ends with the process.
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(Self { _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", path, error)),
        }
    }
}

struct OsFile {
    file: fs::File,
    path: PathBuf,
}

/// Zeros are written in pieces of this many bytes where the file system cannot reserve.
const ZEROS_LEN: usize = 64 * 1024;

impl OsFile {
    /// Opens a file, with system flags besides those of `mode`.
    fn open(path: &Path, mode: OpenMode, flags: i32) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags);
        let op = match mode {
            _ if flags != 0 => "open without the page cache",
            OpenMode::Read | OpenMode::ReadWrite => "open",
            OpenMode::CreateNew => "create",
        };
        options.write(mode != OpenMode::Read).create_new(mode == OpenMode::CreateNew);
        let file = options.open(path).at(op, path)?;
        // Only for reading: opening a directory for writing fails anyway.
        if mode == OpenMode::Read && file.metadata().at(op, path)?.is_dir() {
            return Err(Error::io(op, path, ErrorKind::IsADirectory.into()));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    #[cfg(target_os = "linux")]
    fn open_direct(path: &Path, mode: OpenMode) -> Result<Self> {
        // The flag has bits of a C int.
        Self::open(path, mode, rustix::fs::OFlags::DIRECT.bits().cast_signed())
    }

    #[cfg(not(target_os = "linux"))]
    fn open_direct(path: &Path, _mode: OpenMode) -> Result<Self> {
        Err(Error::io("open without the page cache", path, ErrorKind::Unsupported.into()))
    }

    /// Writes zeros from the end of the file up to `len`.
    fn write_zeros(&self, len: u64) -> io::Result<()> {
        let mut at = self.file.metadata()?.len();
        let zeros = vec![0; ZEROS_LEN];
        while at < len {
            let piece = usize::try_from(len - at).map_or(ZEROS_LEN, |n| n.min(ZEROS_LEN));
            self.file.write_all_at(&zeros[..piece], at)?;
            at += piece as u64;
        }
        // As with an atomic allocation, the length is on disk before anything that is written
        // later.
        self.file.sync_all()
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, len: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                // A file system without it (some network and FUSE ones).
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                    return self.write_zeros(len);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, len: u64) -> io::Result<()> {
        self.write_zeros(len)
    }
}

impl Blocks for OsFile {
    fn read_blocks(&self, blocks: &mut [u8], offset: u64) -> Result<usize> {
        loop {
            match self.file.read_at(blocks, offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result.at("read", &self.path),
            }
        }
    }

    fn write_blocks(&self, blocks: &[u8], offset: u64) -> Result<()> {
        self.file.write_all_at(blocks, offset).at("write", &self.path)
    }
}

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut got = 0;
        while got < buf.len() {
            match self.file.read_at(&mut buf[got..], offset + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path, error)),
            }
        }
        Ok(got)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.file.write_all_at(buf, offset).at("write", &self.path)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        self.reserve(len).at("reserve space for", &self.path)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len).at("set the length of", &self.path)
    }

    fn sync(&self) -> Result<()> {
        // `fdatasync` on Linux, which covers the length; `F_FULLFSYNC` on Apple's systems.
        self.file.sync_data().at("sync", &self.path)
    }

    fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().at("read the length of", &self.path)?.len())
    }

    fn inode(&self) -> Result<Option<u64>> {
        Ok(Some(self.file.metadata().at("ask for the number of", &self.path)?.ino()))
    }

    fn modified(&self) -> Result<Option<u64>> {
        let modified = self.file.metadata().and_then(|metadata| metadata.modified());
        let since = modified.at("ask for the time of", &self.path)?.duration_since(SystemTime::UNIX_EPOCH);
        Ok(since.ok().and_then(|since| u64::try_from(since.as_nanos()).ok()))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests;

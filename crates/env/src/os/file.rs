//! An open file of the operating system.

use super::At;
use super::held::{HeldDir, Place};
use crate::direct::Blocks;
use crate::error::{Error, Result};
use crate::fs::{File, OpenMode};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(super) struct OsFile {
    file: fs::File,
    path: PathBuf,
    /// It was opened in a held directory: there a file that is in use keeps its name.
    is_held: bool,
    /// The most bytes that the process may write to it; see [`file_bytes_max`].
    bytes_max: u64,
}

/// The most bytes that a file of this process may have, when it is opened (RLIMIT_FSIZE).
///
/// The system answers a write beyond the limit with the signal SIGXFSZ, which ends the process. A
/// library neither ends its host nor changes its signals: the write is refused before.
fn file_bytes_max() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// Zeros are written in pieces of this many bytes where the file system cannot reserve.
pub(super) const ZEROS_LEN: usize = 64 * 1024;

/// The operation of an open, for messages.
fn verb(mode: OpenMode) -> &'static str {
    match mode {
        OpenMode::Read | OpenMode::ReadWrite => "open",
        OpenMode::CreateNew => "create",
    }
}

/// Opens a file without waiting for anything: the open of a pipe would wait for a writer. Anything
/// but a file is refused; outside of held directories, devices are not.
fn open(place: &Place<'_>, flags: OFlags, op: &'static str) -> Result<fs::File> {
    let failed = |errno| place.error(op, errno);
    let open = |flags: OFlags| {
        let mode = place.held.map_or(Mode::from_raw_mode(0o666), HeldDir::of_new_files);
        retry_on_intr(|| rustix::fs::openat(place.dir, place.path, flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode))
    };
    let file = match open(flags | OFlags::NONBLOCK) {
        Ok(file) => file,
        // Another process holds a lease on the file (a file server), and gives it up when asked.
        Err(Errno::AGAIN) if type_at(place)? == FileType::RegularFile => open(flags).map_err(failed)?,
        // The cause may be its type: a socket, for instance, cannot be opened.
        Err(errno) => {
            let special = type_at(place).ok().and_then(|found| refused(place, found));
            return Err(special.unwrap_or_else(|| failed(errno)));
        }
    };
    let found = rustix::fs::fstat(&file).map_err(failed)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Err(Error::io(op, place.shown, ErrorKind::IsADirectory.into())),
        found => refused(place, found).map_or(Ok(file.into()), Err),
    }
}

fn type_at(place: &Place<'_>) -> Result<FileType> {
    let found = rustix::fs::statat(place.dir, place.path, AtFlags::empty());
    found.map(|found| FileType::from_raw_mode(found.st_mode)).map_err(|errno| place.error("look at", errno))
}

/// The error for what is not opened; `None` for a file, a directory, and what may be one.
fn refused(place: &Place<'_>, found: FileType) -> Option<Error> {
    let what = match found {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice if place.held.is_some() => "a device",
        _ => return None,
    };
    Some(Error::NotAFile { path: place.shown.to_owned(), what })
}

impl OsFile {
    pub fn open(place: &Place<'_>, mode: OpenMode) -> Result<Self> {
        Self::open_with(place, mode, OFlags::empty(), verb(mode))
    }

    #[cfg(target_os = "linux")]
    pub fn open_direct(place: &Place<'_>, mode: OpenMode) -> Result<Self> {
        Self::open_with(place, mode, OFlags::DIRECT, "open without the page cache")
    }

    #[cfg(not(target_os = "linux"))]
    pub fn open_direct(place: &Place<'_>, _mode: OpenMode) -> Result<Self> {
        Err(place.error("open without the page cache", Errno::NOTSUP))
    }

    fn open_with(place: &Place<'_>, mode: OpenMode, flags: OFlags, op: &'static str) -> Result<Self> {
        let flags = flags
            | match mode {
                OpenMode::Read => OFlags::RDONLY,
                OpenMode::ReadWrite => OFlags::RDWR,
                OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            };
        let file = open(place, flags, op)?;
        // The limit is one on files; devices have none.
        let bytes_max = match file.metadata().at(op, place.shown)?.is_file() && mode != OpenMode::Read {
            true => file_bytes_max(),
            false => u64::MAX,
        };
        Ok(Self { file, path: place.shown.to_owned(), is_held: place.held.is_some(), bytes_max })
    }

    /// Opens a file for its lock alone: for that, permission to read it is enough.
    pub fn open_to_lock(place: &Place<'_>, create: bool) -> Result<fs::File> {
        open(place, if create { OFlags::RDWR | OFlags::CREATE } else { OFlags::RDONLY }, "open")
    }

    /// Refuses a change after which the file may have `end` bytes, if that is beyond the limit.
    fn check_end(&self, end: u64) -> io::Result<()> {
        if end <= self.bytes_max {
            return Ok(());
        }
        let max = self.bytes_max;
        let what = format!(
            "a file of this process may have at most {max} bytes, and this write ends at {end}: raise the limit on the \
             size of files (RLIMIT_FSIZE), then open the file again"
        );
        Err(io::Error::new(ErrorKind::FileTooLarge, what))
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        self.check_end(end).and_then(|()| self.file.write_all_at(bytes, offset)).at("write", &self.path)
    }

    /// Writes zeros from the end of the file up to `len`.
    pub(super) fn write_zeros(&self, len: u64) -> io::Result<()> {
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
        self.write_all_at(blocks, offset)
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
        self.write_all_at(buf, offset)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        self.check_end(len).and_then(|()| self.reserve(len)).at("reserve space for", &self.path)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        // The limit is one on growth: a longer file may be cut to any length.
        let grown =
            if len > self.file.metadata().at("look at", &self.path)?.len() { self.check_end(len) } else { Ok(()) };
        grown.and_then(|()| self.file.set_len(len)).at("set the length of", &self.path)
    }

    fn sync(&self) -> Result<()> {
        // `fdatasync` on Linux, which covers the length; `F_FULLFSYNC` on Apple's systems.
        self.file.sync_data().at("sync", &self.path)?;
        // A file without a name ends with this process, whatever is durable.
        if self.is_held && self.file.metadata().at("look at", &self.path)?.nlink() == 0 {
            return Err(Error::removed(&self.path));
        }
        Ok(())
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

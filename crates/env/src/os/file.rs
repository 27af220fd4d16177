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
    /// True if the file was opened in a held directory. In such a directory, a file that is in use
    /// must keep its name.
    is_held: bool,
    /// The maximum size that the process may give the file, in bytes; see [`file_bytes_max`].
    bytes_max: u64,
}

/// The current limit of the process on the size of files, in bytes (RLIMIT_FSIZE). It is read when
/// a file is opened.
///
/// On a write beyond the limit, the system sends the signal SIGXFSZ, which ends the process. A
/// library must not end its host or change its signal handlers, so the write is refused before the
/// system sees it.
fn file_bytes_max() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// If the file system cannot reserve space, zeros are written in pieces of this many bytes.
pub(super) const ZEROS_LEN: usize = 64 * 1024;

/// The name of the operation of an open, for messages.
fn verb(mode: OpenMode) -> &'static str {
    match mode {
        OpenMode::Read | OpenMode::ReadWrite => "open",
        OpenMode::CreateNew => "create",
    }
}

/// Opens a file without blocking: a plain open of a pipe would wait for a writer. Anything that is
/// not a file is refused, except devices outside of held directories.
fn open(place: &Place<'_>, flags: OFlags, op: &'static str) -> Result<fs::File> {
    let failed = |errno| place.error(op, errno);
    let open = |flags: OFlags| {
        let mode = place.held.map_or(Mode::from_raw_mode(0o666), HeldDir::of_new_files);
        retry_on_intr(|| rustix::fs::openat(place.dir, place.path, flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode))
    };
    let file = match open(flags | OFlags::NONBLOCK) {
        Ok(file) => file,
        // Another process, such as a file server, holds a lease on the file. It gives up the lease
        // when the file is opened without `O_NONBLOCK`, which waits for that.
        Err(Errno::AGAIN) if type_at(place)? == FileType::RegularFile => open(flags).map_err(failed)?,
        // The type of the file may be the cause: a socket, for instance, cannot be opened.
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

/// The error for a type that is not opened; `None` for files, directories, and types that may be
/// allowed.
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
        // The limit applies to files, not to devices.
        let bytes_max = match file.metadata().at(op, place.shown)?.is_file() && mode != OpenMode::Read {
            true => file_bytes_max(),
            false => u64::MAX,
        };
        Ok(Self { file, path: place.shown.to_owned(), is_held: place.held.is_some(), bytes_max })
    }

    /// Opens a file only to lock it. Permission to read the file is sufficient for that.
    pub fn open_to_lock(place: &Place<'_>, create: bool) -> Result<fs::File> {
        open(place, if create { OFlags::RDWR | OFlags::CREATE } else { OFlags::RDONLY }, "open")
    }

    /// Returns an error if a change may extend the file to `end` bytes and this exceeds the limit.
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
        // As with an allocation by the system, the new length is on disk before any later write.
        self.file.sync_all()
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, len: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                // Some network and FUSE file systems do not support this call.
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
        // The limit applies to growth only: a longer file may be truncated to any length.
        let grown =
            if len > self.file.metadata().at("look at", &self.path)?.len() { self.check_end(len) } else { Ok(()) };
        grown.and_then(|()| self.file.set_len(len)).at("set the length of", &self.path)
    }

    fn sync(&self) -> Result<()> {
        // `fdatasync` on Linux, which covers the length; `F_FULLFSYNC` on Apple's systems.
        self.file.sync_data().at("sync", &self.path)?;
        // The contents of a file without a name are lost when it is closed, even if they are
        // durable.
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

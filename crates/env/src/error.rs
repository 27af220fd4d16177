//! The error of every layer below the store.

use std::io;
use std::path::{Path, PathBuf};

/// An error on a file, for every crate below `store`.
///
/// `Clone`, so that every waiter of a group commit can return the same failure.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The operating system refused an operation.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb: "read", "sync", "rename".
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: std::sync::Arc<io::Error>,
    },
    /// The bytes on disk differ from the bytes that were written.
    #[error("{} is damaged at offset {offset}: {what}", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The offset in the file, in bytes.
        offset: u64,
        /// The damage, in words.
        what: String,
    },
    /// A directory or a file was removed while it was in use, or a directory was moved while its name was needed. If
    /// another file or directory has its name now, that one was not changed.
    #[error("{} was {how} while it was in use: nothing can be kept there any more", path.display())]
    Displaced {
        /// The path with which the directory or file was opened.
        path: PathBuf,
        /// The change of the directory or file: "removed", "moved away or replaced".
        how: &'static str,
    },
    /// The path leads to something that is not a file.
    #[error("{} is {what}, and not a file: it was not read", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The kind of the thing at the path: "a named pipe", "a socket", "a device".
        what: &'static str,
    },
    /// Range tombstones that snapshots need have reached their memory limit. Nothing was changed.
    #[error(
        "{}: deletes of ranges would take {bytes} bytes of memory, and the limit is {limit}: end old snapshots, and compact the \
         database", path.display()
    )]
    TooManyRanges {
        /// The directory of the partition.
        path: PathBuf,
        /// The bytes that the tombstones would take.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A database that was opened for reading only keeps its changes in memory, and these changes exceed the limit.
    #[error(
        "{} was opened for reading only, and what is kept in memory in place of being written would take more than \
         {limit} bytes: raise the memory budget", path.display()
    )]
    OverlayFull {
        /// The directory.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file has a newer format than this build can read.
    #[error("{} has format version {found}; this build reads up to {supported}: open it with a newer build", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The highest version that this build reads.
        supported: u32,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// True if no more file descriptors are available. The standard library has no kind for this error.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error.raw_os_error().is_some_and(|number| [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error).contains(&number))
}

impl Error {
    /// An I/O error of the operation `op` on `path`.
    pub fn io(op: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { op, path: path.to_owned(), source: std::sync::Arc::new(source) }
    }

    /// Damage found in `path` at `offset`.
    pub fn corrupt(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), offset, what: what.into() }
    }

    /// The directory or file `path` was removed while it was open.
    pub(crate) fn removed(path: &Path) -> Self {
        Self::Displaced { path: path.to_owned(), how: "removed" }
    }

    /// The open directory `path` no longer has that name.
    pub(crate) fn moved(path: &Path) -> Self {
        Self::Displaced { path: path.to_owned(), how: "moved away or replaced" }
    }

    /// True if a directory or a file was removed or moved away while it was in use.
    pub fn is_displaced(&self) -> bool {
        matches!(self, Self::Displaced { .. })
    }

    /// True if a file or directory does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// True if the reason of the failure says nothing about the bytes of the file: the process cannot open more files
    /// (`EMFILE`), nor can the system (`ENFILE`); memory ran out (`ENOMEM`); the user has no permission (`EACCES`,
    /// `EPERM`); or the directory was removed. The bytes may be intact, so such an error ends a check, but nothing is
    /// reported as damaged or lost.
    pub fn is_circumstance(&self) -> bool {
        match self {
            Self::Displaced { .. } | Self::OverlayFull { .. } => true,
            Self::Io { source, .. } => {
                is_shortage(source)
                    || matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::OutOfMemory)
            }
            _ => false,
        }
    }

    /// True if the process or the system cannot open more files.
    pub fn is_too_many_files(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_shortage(source))
    }

    /// True if the user has no permission for the operation on the file.
    pub fn is_not_permitted(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// True if the file system is mounted for reading only.
    pub fn is_read_only_disk(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem)
    }

    /// True if nothing can be written at the path, even if it can be read: the disk (or a quota) is full, the file
    /// system is mounted for reading only, or the user has no permission to write.
    pub fn is_unwritable(&self) -> bool {
        self.is_no_space() || self.is_read_only_disk() || self.is_not_permitted()
    }

    /// True if the changes of a database that was opened for reading only exceed their memory limit.
    pub fn is_overlay_full(&self) -> bool {
        matches!(self, Self::OverlayFull { .. })
    }

    /// True if a path that should name a directory names a file.
    pub fn is_not_a_directory(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
    }

    /// True if the file would exceed the size that the process or the file system allows.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge)
    }

    /// True if the disk (or a quota) is full.
    pub fn is_no_space(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}

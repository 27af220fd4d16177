//! The error of every layer below the store.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with files, for every crate below `store`.
///
/// `Clone`, so that one failure can be told to every waiter of a group commit.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The operating system refused an operation.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: "read", "sync", "rename".
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: std::sync::Arc<io::Error>,
    },
    /// Bytes on disk are not what was written.
    #[error("{} is damaged at offset {offset}: {what}", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where in the file, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Deletes of ranges take all the memory that they may, and snapshots still need them; nothing was changed.
    #[error(
        "{}: deletes of ranges would take {bytes} bytes of memory, and {limit} is the limit: end old snapshots, and have the \
         database compacted", path.display()
    )]
    TooManyRanges {
        /// The directory of the partition.
        path: PathBuf,
        /// What they would take.
        bytes: u64,
        /// What they may take.
        limit: u64,
    },
    /// The file has a format that this build does not know.
    #[error("{} has format version {found}; this build reads up to {supported}: open it with a newer build", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The version that the file names.
        found: u32,
        /// The highest version that this build reads.
        supported: u32,
    },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An I/O error on `path` while doing `op`.
    pub fn io(op: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { op, path: path.to_owned(), source: std::sync::Arc::new(source) }
    }

    /// Damage found in `path` at `offset`.
    pub fn corrupt(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), offset, what: what.into() }
    }

    /// True if something is a file, and not the directory that it was taken for.
    pub fn is_not_a_directory(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
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

//! The store's errors.

use alluvium_env::Env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The errors of a store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A file operation failed or found damage. The message names the file.
    #[error(transparent)]
    Storage(#[from] alluvium_env::Error),
    /// There is no database at the path, and `create_if_missing` is off.
    #[error("{} is not an Alluvium database: check the path, or create the database first", .0.display())]
    NotADatabase(PathBuf),
    /// The directory is not empty and holds no database.
    #[error("{} is not empty and holds no Alluvium database: choose an empty or new directory", .0.display())]
    ForeignDirectory(PathBuf),
    /// The directory holds a checkpoint, which is not opened as a database.
    #[error("{} is a checkpoint: restore it to another directory, and open that", .0.display())]
    IsCheckpoint(PathBuf),
    /// The directory does not hold a checkpoint.
    #[error("{} is not a checkpoint, since it has no file CHECKPOINT: check the path", .0.display())]
    NotACheckpoint(PathBuf),
    /// The file is not a file of a database.
    #[error(
        "{} is not a file of an Alluvium database or read-only store (these are ALLUVIUM, CHECKPOINT, MANIFEST-…, ….sst, \
         wal-….log, READONLY and index-….idx): check the path", .0.display()
    )]
    NotOfADatabase(PathBuf),
    /// The directory for a checkpoint or a new database is not empty.
    #[error("{} exists and is not empty: choose another name, or move it away", .0.display())]
    TargetExists(PathBuf),
    /// The directory for a checkpoint is inside a database or another checkpoint.
    #[error("{} is inside {}, a database or checkpoint: choose a directory outside of it", dir.display(), above.display())]
    InsideDatabase {
        /// The directory for the checkpoint.
        dir: PathBuf,
        /// The database or checkpoint above it.
        above: PathBuf,
    },
    /// The base of an incremental checkpoint is a checkpoint of another database.
    #[error(
        "{} is a checkpoint of another database than {}: name a checkpoint of this database as the \
         base, or none (a database that was restored from a checkpoint is another database)",
        base.display(), database.display()
    )]
    ForeignBase {
        /// The checkpoint that was named as base.
        base: PathBuf,
        /// The database for which the checkpoint was requested.
        database: PathBuf,
    },
    /// Another process has the database open.
    #[error(
        "{} is in use by another process: close it there first (a database that is open for writing is open in that process only)",
        .0.display()
    )]
    InUse(PathBuf),
    /// This process has the database open.
    #[error("{} is open in this process already: use a clone of that handle, or close it first", .0.display())]
    InUseHere(PathBuf),
    /// A write to a store that was opened with [`crate::Options::read_only`].
    #[error("{} was opened for reading only: nothing was written; close it, and open it for writing", .0.display())]
    OpenedForReading(PathBuf),
    /// The memory budget is too small for the log: with [`crate::Options::read_only`], the log is kept in memory.
    #[error(
        "{} cannot be opened for reading only with this memory budget, because its log has {log_bytes} bytes: a budget \
         of {needed_bytes} bytes is enough, or open it for writing", path.display()
    )]
    LogTooLarge {
        /// The database.
        path: PathBuf,
        /// The bytes of the log.
        log_bytes: u64,
        /// A memory budget that suffices, in bytes.
        needed_bytes: u64,
    },
    /// The requested number of partitions differs from the number that was fixed when the database was created.
    #[error("the number of partitions of {} is {found}, not {requested}: leave it out, or load into a new database", path.display())]
    PartitionCount {
        /// The database.
        path: PathBuf,
        /// Partitions of the database.
        found: u32,
        /// Requested partitions.
        requested: u32,
    },
    /// An option is out of its range.
    #[error("the option {name} must be {must_be}")]
    InvalidOption {
        /// The name of the option.
        name: &'static str,
        /// The permitted values.
        must_be: &'static str,
    },
    /// A batch is larger than the memory budget allows.
    #[error(
        "the batch has {bytes} bytes; with this memory budget a batch may have {limit}: split it, or raise the budget"
    )]
    BatchTooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A tree of the batch was dropped before the batch was numbered.
    #[error("tree {0} does not exist, or was dropped")]
    NoSuchTree(u32),
    /// The description of a tree has changed since the batch was made.
    #[error("the description of tree {0} changed while the batch was made: make the batch again")]
    SchemaChanged(u32),
    /// The disk is full, or has no more space left than [`crate::Options::disk_reserve_bytes`]. Nothing was changed.
    /// Writes succeed again when there is space.
    #[error("the disk is full: nothing was written; free some space and try again ({0})")]
    NoSpace(Box<Error>),
    /// The disk is too full even for opening the database for writing. Nothing was changed. The database can be opened
    /// for reading only, to be read and copied.
    #[error(
        "{} cannot be opened for writing, because the disk is full ({cause}): that takes {needed_bytes} bytes and {files} \
         files, and {available_bytes} bytes are free; free that much on this disk, then drop or delete what is not \
         needed", path.display()
    )]
    NoSpaceToOpen {
        /// The database.
        path: PathBuf,
        /// Bytes that suffice to open the database and to drop trees.
        needed_bytes: u64,
        /// The number of files that opening creates. If the file system has no inodes left, this many are needed.
        files: u64,
        /// Bytes that are free; 0 if the system does not report them.
        available_bytes: u64,
        /// The operation that failed.
        cause: Box<Error>,
    },
    /// A write to the log or a manifest failed earlier. Until it is reopened, the store takes no writes.
    #[error("the database takes no writes since an earlier failure ({0}): reopen it to recover")]
    Poisoned(Box<Error>),
    /// The log failed during this write. After reopening, the write may or may not exist.
    #[error("the outcome of this write is unknown ({0}): reopen the database, and check whether it was written")]
    OutcomeUnknown(Box<Error>),
    /// The snapshot was ended, so that it does not keep disk space. It was older than
    /// [`crate::Options::snapshot_max_age`], or it was the oldest snapshot when files kept more bytes for snapshots
    /// than [`crate::Options::snapshot_max_debt_bytes`].
    #[error(
        "the snapshot was ended, because it was older than snapshot_max_age or because more than \
         snapshot_max_debt_bytes were kept on disk for it: take a new one, or raise these options"
    )]
    SnapshotTooOld,
    /// Another write of a key of a write set was committed after the set was begun. Nothing was written.
    #[error("another write changed what this transaction writes: nothing was written; begin it again")]
    Conflict,
    /// A write waited too long for the end of a write set that has written one of its keys, or was not to wait.
    #[error(
        "an open transaction has written what this write would write: try again when it has ended; within the \
         transaction, use its own collections"
    )]
    Claimed {
        /// The number of the write set: [`crate::WriteSet::number`].
        set: u64,
    },
    /// The store was closed.
    #[error("the database is closed")]
    Closed,
    /// The caller stopped the operation.
    #[error("stopped")]
    Stopped,
    /// A background thread panicked with this message.
    #[error("a background thread failed: {0}; reopen the database, and please report this")]
    WorkerFailed(String),
    /// The bytes of a key or value were not written by the given serializer.
    #[error("a stored {what} cannot be decoded: {reason}")]
    Decode {
        /// "key" or "value".
        what: &'static str,
        /// The serializer's reason.
        reason: String,
    },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error for a lock that another opener holds.
    pub(crate) fn in_use(env: &Env, dir: &Path, lock: &Path) -> Self {
        if env.fs.is_locked_here(lock) { Self::InUseHere(dir.to_owned()) } else { Self::InUse(dir.to_owned()) }
    }

    /// True if the cause is damage on disk.
    ///
    /// ```
    /// let path = std::path::Path::new("db/p000/00000007.sst");
    /// let error = alluvium_store::Error::from(alluvium_env::Error::corrupt(path, 4096, "the checksum is wrong"));
    /// assert!(error.is_corruption());
    /// assert!(!alluvium_store::Error::Closed.is_corruption());
    /// ```
    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Storage(alluvium_env::Error::Corrupt { .. }) => true,
            Self::Poisoned(inner) | Self::OutcomeUnknown(inner) => inner.is_corruption(),
            _ => false,
        }
    }

    /// True if the cause is no evidence about the files: see [`alluvium_env::Error::is_circumstance`].
    pub(crate) fn is_circumstance(&self) -> bool {
        matches!(self, Self::Storage(cause) if cause.is_circumstance())
    }

    /// Returns the same error, except that an error about a full disk becomes [`Error::NoSpace`].
    pub(crate) fn named_if_full(self) -> Self {
        match self {
            Self::Storage(cause) if cause.is_no_space() => Self::NoSpace(Box::new(Self::Storage(cause))),
            error => error,
        }
    }
}

/// Returns [`Error::Stopped`] if `stop` is set.
pub(crate) fn check_stop(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
}

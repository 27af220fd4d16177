//! The store's errors.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a store can answer instead of a result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A file operation failed or found damage; the message names the file.
    #[error(transparent)]
    Storage(#[from] alluvium_env::Error),
    /// There is no database at the path and `create_if_missing` is off.
    #[error("{} is no Alluvium database: check the path, or create one by `put`, `load` or `index create`", .0.display())]
    NotADatabase(PathBuf),
    /// The directory holds something else.
    #[error("{} is not empty and holds no Alluvium database: choose an empty or new directory", .0.display())]
    ForeignDirectory(PathBuf),
    /// The directory holds a checkpoint, which nobody writes to.
    #[error("{} is a checkpoint: `alluvium restore` makes a database of it in another directory", .0.display())]
    IsCheckpoint(PathBuf),
    /// The directory holds no checkpoint.
    #[error("{} is no checkpoint (there is no file CHECKPOINT in it): check the path", .0.display())]
    NotACheckpoint(PathBuf),
    /// A file is none of a database.
    #[error(
        "{} is no file of an Alluvium database or read-only store (these are ALLUVIUM, CHECKPOINT, MANIFEST-…, ….sst, \
         wal-….log, READONLY and index-….idx): check the path", .0.display()
    )]
    NotOfADatabase(PathBuf),
    /// A checkpoint or a database is to be made where something is.
    #[error("{} exists and is not empty: choose another name, or move what is there away", .0.display())]
    TargetExists(PathBuf),
    /// A checkpoint is to be made within a database or another checkpoint.
    #[error("{} lies within {}: choose a directory outside of it", dir.display(), above.display())]
    InsideDatabase {
        /// Where it was to be made.
        dir: PathBuf,
        /// The database or checkpoint above it.
        above: PathBuf,
    },
    /// The base of an incremental checkpoint is of another database.
    #[error(
        "{} is a checkpoint of another database than {}: name one of this database as base, or none (a restored \
         database is another one than that which the checkpoint was taken of)",
        base.display(), database.display()
    )]
    ForeignBase {
        /// The checkpoint that was named as base.
        base: PathBuf,
        /// The database.
        database: PathBuf,
    },
    /// Another process, or another handle of this one, has the database open.
    #[error("{} is in use by another process: close it there first (one process opens a database at a time)", .0.display())]
    InUse(PathBuf),
    /// The number of partitions is fixed when a database is created.
    #[error("{} has {found} partitions, not {asked}: leave the number out, or load into a new database", path.display())]
    PartitionCount {
        /// The database.
        path: PathBuf,
        /// Partitions that it has.
        found: u32,
        /// Partitions that were asked for.
        asked: u32,
    },
    /// An option is out of its range.
    #[error("the option {name} must be {must_be}")]
    InvalidOption {
        /// The option.
        name: &'static str,
        /// What it may be.
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
    #[error("tree {0} does not exist (it was dropped)")]
    NoSuchTree(u32),
    /// A tree of the batch has another description than the batch was made under.
    #[error("tree {0} was described anew while the batch was made: make it again")]
    SchemaChanged(u32),
    /// The disk is full, or only [`crate::Options::disk_reserve_bytes`] are left; nothing was changed.
    /// Writes go on when there is space.
    #[error("the disk is full: nothing was written; free some space and try again ({0})")]
    NoSpace(Box<Error>),
    /// A write to the log or the manifest failed earlier; the store only reads until reopened.
    #[error("the database takes no writes since an earlier failure ({0}): reopen it to recover")]
    Poisoned(Box<Error>),
    /// The log failed while this write was on its way: it may or may not be there after reopening.
    #[error("the outcome of this write is unknown ({0}): reopen the database and look")]
    OutcomeUnknown(Box<Error>),
    /// A snapshot lived longer than [`crate::Options::snapshot_max_age`], or was the oldest when files
    /// kept more for snapshots than [`crate::Options::snapshot_max_debt_bytes`]; it was ended, so that
    /// it would not pin the disk.
    #[error(
        "the snapshot was ended, because it was older than snapshot_max_age or because more than \
         snapshot_max_debt_bytes were kept on disk for it: take a new one, or raise these options"
    )]
    SnapshotTooOld,
    /// The store was closed.
    #[error("the database is closed")]
    Closed,
    /// Somebody asked for it.
    #[error("stopped")]
    Stopped,
    /// A background thread died; the message is its last words.
    #[error("a background thread failed: {0}; reopen the database, and please report this")]
    WorkerFailed(String),
    /// Bytes of a key or value are not what its serializer writes.
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

    /// The same error; that of a full disk as [`Error::NoSpace`].
    pub(crate) fn named_if_full(self) -> Self {
        match self {
            Self::Storage(cause) if cause.is_no_space() => Self::NoSpace(Box::new(Self::Storage(cause))),
            error => error,
        }
    }
}

/// [`Error::Stopped`] if `stop` is set.
pub(crate) fn check_stop(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
}

//! The report of opening a store.

use alluvium_codec::entry::Seq;
use std::path::PathBuf;
use std::time::Duration;

/// The report of opening a store: what was found, and what was done.
#[derive(Debug, Clone, Default)]
pub struct OpenReport {
    /// The database was created.
    pub created: bool,
    /// The database had been closed cleanly.
    pub clean: bool,
    /// Log records replayed.
    pub replayed_records: u64,
    /// Bytes of the replayed records.
    pub replayed_bytes: u64,
    /// The torn tail of the log, which was cut off. Its operations had not been acknowledged under
    /// [`crate::Durability::Sync`].
    pub dropped: Option<CutTail>,
    /// The torn tails of manifests, which were cut off. The flush or compaction whose edit was torn is repeated;
    /// nothing is lost.
    pub manifest_tails: Vec<CutTail>,
    /// The sequence numbers whose operations are lost to damage. Empty without
    /// [`crate::Options::accept_log_damage`], unless the only evidence of the loss is in files that
    /// [`crate::Store::ingest`] made.
    pub lost: Vec<LostNumbers>,
    /// How long opening took.
    pub took: Duration,
}

/// The torn tail of a file. The file was being written when a process ended, and the tail was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutTail {
    /// The file.
    pub path: PathBuf,
    /// The offset at which the tail began, in bytes.
    pub offset: u64,
    /// The number of bytes that were cut off.
    pub bytes: u64,
}

/// A range of operations that are lost from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostNumbers {
    /// The sequence number of the first lost operation.
    pub first: Seq,
    /// The sequence number of the last lost operation.
    pub last: Seq,
}

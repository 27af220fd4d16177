//! What opening a store found and did.

use alluvium_codec::entry::Seq;
use std::path::PathBuf;
use std::time::Duration;

/// What opening a store found and did.
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
    /// A torn tail of the log that was cut off: file, offset, bytes. Its operations had not been
    /// acknowledged under [`crate::Durability::Sync`].
    pub dropped: Option<(PathBuf, u64, u64)>,
    /// Torn tails of manifests that were cut off: file, offset, bytes. The flush or compaction
    /// whose edit was torn is done again; nothing is lost.
    pub manifest_tails: Vec<(PathBuf, u64, u64)>,
    /// Ranges of sequence numbers whose operations are lost to damage. Empty without
    /// [`crate::Options::accept_log_damage`], unless the only evidence of the loss is in files that
    /// [`crate::Store::ingest`] made.
    pub lost: Vec<(Seq, Seq)>,
    /// How long opening took.
    pub took: Duration,
}

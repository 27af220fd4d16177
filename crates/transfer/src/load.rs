//! Bulk loads of JSON, CSV and BSON: parsed in parallel, written in input order, resumable.
//!
//! Reader threads take consecutive slices of the input and parse them into write batches; writer threads write the
//! batches in the order of the slices. Therefore a later line replaces an earlier one with the same `_id`, keys that
//! ascend in the input ascend in the log, and one offset describes the progress of a load. Each batch writes that
//! offset together with its documents, so an interrupted load, even one that was killed, resumes where it stopped.

mod builder;
mod columns;
mod columns_report;
mod format;
mod framed;
mod input;
mod metadata;
mod open;
pub(crate) mod pipeline;
mod place;
mod progress;
mod rows;
mod slice;

pub use alluvium_readonly::OnDuplicate;
pub use builder::Load;
pub use columns_report::{ColumnKind, ColumnReport};
pub use format::{Csv, FieldType, Format};
pub use input::{Identity, Input, Source};
pub(crate) use metadata::ENDING as METADATA_ENDING;
pub use metadata::Metadata;
pub use place::PathBefore;
pub use progress::Progress;

use alluvium_store::Durability;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The UTF-8 byte order mark. It may precede the text and is not part of it.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The action of a load for a bad record: one that is not a document, that an index cannot hold, or
/// whose unique key belongs to another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBad {
    /// The load fails with an error that names line, column and reason.
    Error,
    /// The record is skipped and written to the rejects. The load still fails if it cannot find the
    /// end of the record (unclosed brackets, an impossible length).
    Skip,
    /// The record is repaired: numbers that BSON cannot hold are rounded as MongoDB's arithmetic rounds its results;
    /// `NaN` and `Infinity` are accepted; bytes that are not UTF-8, half of a surrogate pair, and a zero character in a
    /// name become U+FFFD; each of several objects on one line is a document; a field of CSV with text after its
    /// closing quote is stored as it is written. A record that cannot be repaired ends the load.
    Repair,
}

/// How to load: see the setters of [`Load`].
pub(crate) struct LoadOptions {
    pub(crate) format: Format,
    pub(crate) id_field: String,
    pub(crate) readers: usize,
    pub(crate) writers: usize,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) on_bad: OnBad,
    pub(crate) alluvium_types: bool,
    pub(crate) rejects: Option<Box<dyn Write + Send>>,
    pub(crate) durability: Durability,
    pub(crate) again: bool,
    pub(crate) append: bool,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) progress: Arc<Progress>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            format: Format::default(),
            id_field: "_id".to_owned(),
            readers: alluvium_env::thread::available_parallelism(),
            writers: 1,
            on_duplicate: OnDuplicate::Error,
            on_bad: OnBad::Error,
            alluvium_types: false,
            rejects: None,
            durability: Durability::Bulk,
            again: false,
            append: false,
            stop: Arc::new(AtomicBool::new(false)),
            progress: Arc::new(Progress::default()),
        }
    }
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole input is loaded and durable.
    Done,
    /// An earlier load completed this input; nothing was changed.
    AlreadyDone,
    /// The load was stopped. The documents loaded so far are durable, and the next run continues
    /// after them.
    Stopped,
}

/// The result of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReport {
    /// Whether the load completed.
    pub outcome: Outcome,
    /// Documents written by this run.
    pub documents: u64,
    /// Documents skipped because their `_id` existed already.
    pub duplicates: u64,
    /// Records skipped because they could not be stored.
    pub rejected: u64,
    /// Records that were repaired.
    pub repaired: u64,
    /// Bytes of input read by this run, decompressed.
    pub bytes: u64,
    /// The offset at which this run began, in bytes of the decompressed input; above 0 if it resumed an earlier load.
    pub resumed_at: u64,
    /// Documents that earlier runs had written.
    pub documents_before: u64,
    /// The decisions about the columns, if the input is CSV.
    pub columns: Vec<ColumnReport>,
}

/// The part of an input that earlier loads have loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedBefore {
    /// Bytes of the decompressed input.
    pub bytes: u64,
    /// Documents written.
    pub documents: u64,
    /// True if the whole input is loaded.
    pub finished: bool,
}

#[cfg(test)]
mod tests;

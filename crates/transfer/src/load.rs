//! Bulk loads of JSON, CSV and BSON: parsed in parallel, written in input order, resumable.
//!
//! Reader threads take consecutive slices of the input and parse them into write batches; writer
//! threads write the batches in the order of the slices. So a later line wins over an earlier one,
//! keys that ascend in the input ascend in the log, and the progress of a load is one offset. Each
//! batch writes that offset together with its documents, so an interrupted load, even one that was
//! killed, resumes where it stopped.

mod columns;
mod format;
mod framed;
mod input;
mod metadata;
mod open;
pub(crate) mod pipeline;
mod progress;
mod slice;

pub use alluvium_readonly::OnDuplicate;
pub use format::{Csv, FieldType, Format};
pub use input::{Identity, Input, Source};
pub(crate) use metadata::ENDING as METADATA_ENDING;
pub use metadata::Metadata;
pub use progress::Progress;

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_store::Durability;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The UTF-8 byte order mark. It may precede the text and is not part of it.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a load does with a bad record: one that is not a document, that an index cannot take, or
/// whose unique key belongs to another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBad {
    /// The load fails with an error that names line, column and reason.
    Error,
    /// The record is skipped and written to the rejects. The load still fails if it cannot find the
    /// end of the record (unclosed brackets, an impossible length).
    Skip,
}

/// How to load.
pub struct LoadOptions {
    /// The format of the input. Default: one JSON object per line.
    pub format: Format,
    /// The field whose value becomes the `_id`; the document keeps the field, at no cost on disk.
    /// Default: `_id`, generated where it is absent.
    pub id_field: String,
    /// Threads that parse. Default: one for each core.
    pub readers: usize,
    /// Threads that write. Default: 1.
    pub writers: usize,
    /// Default: error.
    pub on_duplicate: OnDuplicate,
    /// Default: error.
    pub on_bad: OnBad,
    /// Receives one line of JSON for each rejected record, with line, column, reason and text; for
    /// BSON, with document, byte, reason and base64.
    pub rejects: Option<Box<dyn Write + Send>>,
    /// Default: [`Durability::Bulk`]: the load as a whole is acknowledged at its end.
    pub durability: Durability,
    /// Loads an input again even if an earlier load completed it. Default: false.
    pub again: bool,
    /// Once any thread sets this to true, the load stops after the slices that are being written.
    pub stop: Arc<AtomicBool>,
    /// Counters that the load updates. Other threads may read them.
    pub progress: Arc<Progress>,
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
            rejects: None,
            durability: Durability::Bulk,
            again: false,
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

/// What a load did.
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
    /// Bytes of input read by this run, decompressed.
    pub bytes: u64,
    /// Where this run began, in bytes of the decompressed input; above 0 if it resumed an earlier
    /// one.
    pub resumed_at: u64,
    /// Documents that earlier runs had written.
    pub documents_before: u64,
}

/// How much of an input earlier loads have loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedBefore {
    /// Bytes of the decompressed input.
    pub bytes: u64,
    /// Documents written.
    pub documents: u64,
    /// True if the whole input is loaded.
    pub finished: bool,
}

/// Refuses options that contradict each other.
pub(crate) fn check_options(options: &LoadOptions) -> Result<()> {
    if options.format == Format::JsonFields && options.id_field != "_id" {
        let what = "the field names become the _id, so no other field can be the _id";
        return Err(Error::Load(what.to_owned()));
    }
    if options.readers == 0 || options.writers == 0 {
        return Err(Error::Load("a load needs at least one reader and one writer".to_owned()));
    }
    Ok(())
}

/// Loads an input into a collection: see `Collection::load`.
///
/// # Errors
/// [`Error::Load`], [`Error::LoadDuplicate`], [`Error::LoadOf`]; as for any write. The documents
/// loaded before the error stay.
pub fn load(engine: &EngineHandle, name: &FullName, input: Input, options: LoadOptions) -> Result<LoadReport> {
    check_options(&options)?;
    pipeline::run(engine, name, input, options)
}

/// How much of an input an earlier load with these options has loaded.
///
/// # Errors
/// As for any read.
pub fn loaded_before(
    engine: &EngineHandle,
    name: &FullName,
    input: &Input,
    options: &LoadOptions,
) -> Result<Option<LoadedBefore>> {
    let mark = pipeline::loaded_before(engine, name, input, options)?;
    Ok(mark.map(|mark| LoadedBefore { bytes: mark.offset, documents: mark.documents, finished: mark.finished }))
}

//! Bulk loads of JSON, CSV and BSON: parallel parsing, writes in the order of the input, resumable.
//!
//! Reader threads take consecutive slices of the input and parse them into write batches; writer
//! threads write the batches in the order of the slices. So a later line wins over an earlier
//! one, keys that rise in the input rise in the log, and "how far" is one offset. That offset is
//! written in the same batch as the documents, so a load that was cut short, even by a kill, is
//! taken up where it ended.

mod columns;
mod format;
mod framed;
mod input;
mod metadata;
mod open;
pub(crate) mod pipeline;
mod progress;
mod slice;

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

/// What may stand at the beginning of text in UTF-8, and is no part of it.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a load does with a document whose `_id` is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The load ends with an error that names the line.
    Error,
    /// The later document wins. Reads nothing.
    Replace,
    /// The earlier document stays.
    Skip,
}

/// What a load does with a line, or another record, that is no document, that an index cannot take, or that has a unique key of
/// another document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBad {
    /// The load ends with an error that names line, column and reason.
    Error,
    /// The line is left out, and written to the rejects. Where a record's end cannot be found (brackets
    /// that are not closed, a length that cannot be), the load ends all the same.
    Skip,
}

/// How to load.
pub struct LoadOptions {
    /// How the documents stand in the input. Default: a JSON object a line.
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
    /// Where rejected lines go: a line of JSON for each, with line, column, reason and text; of BSON,
    /// with document, byte, reason and base64.
    pub rejects: Option<Box<dyn Write + Send>>,
    /// Default: [`Durability::Bulk`], so the load is acknowledged, whole, at its end.
    pub durability: Durability,
    /// Load an input again that was loaded to its end before. Default: false.
    pub again: bool,
    /// Set to true by anybody, the load stops after the slices that are being written.
    pub stop: Arc<AtomicBool>,
    /// Told what is going on; read it from another thread.
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
    /// It had been loaded before; nothing was changed.
    AlreadyDone,
    /// It was stopped; what was loaded is durable, and running it again goes on from there.
    Stopped,
}

/// What a load did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Documents written by this run.
    pub documents: u64,
    /// Documents left out because their `_id` was taken.
    pub duplicates: u64,
    /// Lines left out because they are no documents.
    pub rejected: u64,
    /// Bytes of input read by this run, decompressed.
    pub bytes: u64,
    /// Where this run began, in bytes of the decompressed input; above 0 if it was taken up.
    pub resumed_at: u64,
    /// Documents that earlier runs had written.
    pub documents_before: u64,
}

/// How far an input was loaded before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedBefore {
    /// Bytes of the decompressed input.
    pub bytes: u64,
    /// Documents written.
    pub documents: u64,
    /// To its end.
    pub finished: bool,
}

/// Refuses options that do not go together.
pub(crate) fn check_options(options: &LoadOptions) -> Result<()> {
    if options.format == Format::JsonFields && options.id_field != "_id" {
        let what = "the names of the fields become the _id: no other field can";
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
/// [`Error::Load`], [`Error::LoadDuplicate`], [`Error::LoadOf`]; as for any write. What was loaded before the error stays.
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

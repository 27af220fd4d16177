//! The arguments of `load`, and their resolution.

use super::format::FormatArgs;
use super::input::Source;
use super::rejects::Rejects;
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::settings::database::{Acknowledge, CollectionArgs};
use crate::text;
use alluvium::load::{OnBad, OnDuplicate};
use alluvium::{Builder, Durability};
use alluvium_env::Env;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium load my.db comments comments.jsonl.zst --id-field id
  alluvium load my.db airports airports.csv --id-field iata --types iata:string,elevation:double
  alluvium load my.db licences licences.json --split-object
  alluvium load my.db pets dump/main/pets.bson
  zcat *.gz | alluvium load my.db events - --on-bad skip --rejects bad.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) collection: CollectionArgs,
    /// Files of JSON, CSV, TSV or BSON, plain or compressed (.gz, .zst); - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    formats: FormatArgs,
    /// The field whose value becomes the _id; a document without an _id gets a generated one
    #[arg(long, value_name = "FIELD", default_value = "_id")]
    id_field: String,
    /// What to do with a document whose _id exists
    #[arg(long, value_enum, default_value = "error")]
    on_duplicate: Duplicate,
    /// What to do with a line, row or element that is not a document, or that an index refuses
    #[arg(long, value_enum, default_value = "error")]
    on_bad: Bad,
    /// Take also values that BSON, and so clients of a server, cannot hold: numbers of more than 34 digits, names with a zero character
    #[arg(long)]
    alluvium_types: bool,
    /// Append what is skipped to this file, as JSON lines with file, line, column, reason and text (for BSON: file, document, byte, reason and base64)
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    #[command(flatten)]
    loading: Loading,
    /// Load files again that were loaded completely before; a file is identified by its inode, size, modification time and both ends
    #[arg(long)]
    again: bool,
    /// Load of a plain file that was loaded before only what follows the loaded part: of a log that has grown, or of a file that was repaired behind that part. The file is refused if the loaded part was changed
    #[arg(long, conflicts_with = "again")]
    append: bool,
    /// Refuse a BSON dump whose metadata list indexes that are not supported, before anything is loaded
    #[arg(long)]
    strict: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of a load that do not depend on its inputs.
#[derive(Debug, clap::Args)]
pub struct Loading {
    /// Number of threads that parse; by default one for each core
    #[arg(long, value_name = "N")]
    readers: Option<usize>,
    /// Number of threads that write
    #[arg(long, value_name = "N", default_value_t = 1)]
    writers: usize,
    /// Number of partitions, if the database is created; by default 1 if --memory is below 64M,
    /// and otherwise 4
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    /// When documents are made durable
    #[arg(long, value_enum, default_value = "bulk")]
    sync: Acknowledge,
    /// Append one JSON line per second to this file: documents, bytes, disk, compaction debt, memory
    #[arg(long, value_name = "FILE")]
    progress_json: Option<PathBuf>,
    /// Milliseconds between two lines of --progress-json
    #[arg(long, value_name = "MS", default_value_t = 1000, hide = true)]
    progress_ms: u64,
    /// Wait until all compactions are finished
    #[arg(long)]
    settle: bool,
    /// Start even if the disk may be too small for what is loaded
    #[arg(long)]
    no_space_check: bool,
}

/// The action for a document whose `_id` exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Duplicate {
    /// Stop with an error
    Error,
    /// Replace the earlier document
    Replace,
    /// Keep the earlier document
    Skip,
}

impl From<Duplicate> for OnDuplicate {
    fn from(what: Duplicate) -> Self {
        match what {
            Duplicate::Error => Self::Error,
            Duplicate::Replace => Self::Replace,
            Duplicate::Skip => Self::Skip,
        }
    }
}

/// The action for a line that is not a document, or that an index refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Bad {
    /// Stop with an error
    Error,
    /// Skip it
    Skip,
    /// Repair it: round numbers that decimal128 cannot hold, take NaN and Infinity, replace what is not UTF-8 and half surrogates by U+FFFD, take several objects on a line and malformed fields of CSV as they are; stop at what cannot be repaired
    Repair,
}

impl From<Bad> for OnBad {
    fn from(what: Bad) -> Self {
        match what {
            Bad::Error => Self::Error,
            Bad::Skip => Self::Skip,
            Bad::Repair => Self::Repair,
        }
    }
}

/// The resolved settings of a load.
pub(crate) struct Settings {
    pub builder: Builder,
    pub collection: String,
    pub sources: Vec<Source>,
    pub id_field: String,
    pub readers: Option<usize>,
    pub writers: usize,
    pub durability: Durability,
    pub on_duplicate: OnDuplicate,
    pub on_bad: OnBad,
    pub alluvium_types: bool,
    pub rejects: Option<Rejects>,
    pub progress_json: Option<PathBuf>,
    pub progress_interval: Duration,
    /// Include the figures of each second in the JSON.
    pub samples: bool,
    pub settle: bool,
    pub space_check: bool,
    pub again: bool,
    pub append: bool,
    pub json: bool,
}

impl Loading {
    /// The settings of a load without inputs.
    pub(crate) fn resolve(&self, collection: &CollectionArgs) -> Outcome<Settings> {
        if self.readers == Some(0) || self.writers == 0 {
            return Err(Failure::Usage("--readers and --writers are at least 1".to_owned()));
        }
        if let Some(written) = &self.progress_json {
            files::refuse_inside(&Env::os(), written)?;
        }
        let mut builder = collection.database.creating()?;
        if let Some(partitions) = self.partitions {
            builder = builder.partitions(partitions);
        }
        Ok(Settings {
            builder,
            collection: collection.name.clone(),
            sources: Vec::new(),
            id_field: "_id".to_owned(),
            readers: self.readers,
            writers: self.writers,
            durability: self.sync.into(),
            on_duplicate: OnDuplicate::Error,
            on_bad: OnBad::Error,
            alluvium_types: false,
            rejects: None,
            progress_json: self.progress_json.clone(),
            progress_interval: Duration::from_millis(self.progress_ms.max(1)),
            samples: false,
            settle: self.settle,
            space_check: !self.no_space_check,
            again: false,
            append: false,
            json: false,
        })
    }
}

impl Args {
    /// Checks the arguments and the inputs, before anything is created.
    pub(super) fn resolve(&self, env: &Env) -> Outcome<Settings> {
        if self.rejects.is_some() && self.on_bad != Bad::Skip {
            return Err(Failure::Usage("--rejects takes what --on-bad skip leaves out: add that".to_owned()));
        }
        if self.formats.splits() && self.id_field != "_id" {
            let what = "with --split-object the fields' names become the _id: leave out --id-field";
            return Err(Failure::Usage(what.to_owned()));
        }
        let settings = self.loading.resolve(&self.collection)?;
        if let Some(written) = &self.rejects {
            files::refuse_inside(env, written)?;
        }
        for written in self.rejects.iter().chain(&settings.progress_json) {
            files::refuse_input(written, &self.files)?;
        }
        let sources =
            self.files.iter().map(|file| Source::find(env, file, &self.formats)).collect::<Outcome<Vec<_>>>()?;
        if sources.iter().filter(|source| source.is_stdin()).count() > 1 {
            return Err(Failure::Usage("standard input can be read only once".to_owned()));
        }
        let unsupported = sources.iter().filter_map(Source::metadata);
        let unsupported = unsupported.flat_map(|(path, metadata)| {
            metadata.unsupported_indexes().into_iter().map(move |(name, reason)| (path, name, reason))
        });
        if let (true, Some((path, name, reason))) = (self.strict, unsupported.take(1).next()) {
            let what = format!(
                "{}: the index {} cannot be created: {}",
                text::path(path),
                text::plain(&name),
                text::plain(&reason)
            );
            return Err(Failure::Other(what));
        }
        Ok(Settings {
            sources,
            id_field: self.id_field.clone(),
            on_duplicate: self.on_duplicate.into(),
            on_bad: self.on_bad.into(),
            alluvium_types: self.alluvium_types,
            rejects: self.rejects.as_deref().map(Rejects::open).transpose()?,
            again: self.again,
            append: self.append,
            json: self.json,
            ..settings
        })
    }
}

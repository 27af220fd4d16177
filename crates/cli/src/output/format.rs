//! The formats in which commands print documents and figures.

use super::terminal;
use crate::exit::{Failure, Outcome};
use crate::mode::Mode;
use crate::session;
use alluvium_document::json;

/// A format by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatName {
    /// One JSON array
    #[value(alias = "json-array")]
    Json,
    /// One JSON object per line
    #[value(alias = "json-lines", alias = "ndjson")]
    Jsonl,
    /// A table that fits the terminal: longer text ends with …
    Table,
    /// Comma-separated rows, with a first row of names
    Csv,
    /// Tab-separated rows, with a first row of names
    Tsv,
    /// A table in Markdown
    #[value(alias = "md")]
    Markdown,
}

impl FormatName {
    /// True if documents keep their structure.
    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }

    /// True if figures are written with units.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::Table | Self::Markdown)
    }
}

/// How many documents a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Documents that match a filter or follow each other.
    List,
    /// Documents that are named one by one.
    Single,
}

/// The format of a mode, and whether JSON has one field per line.
fn format_of(mode: Mode, printed: Printed) -> (Option<FormatName>, bool) {
    match mode {
        // A shell on a terminal prints documents in pages of twenty.
        Mode::Auto if printed == Printed::List && terminal::is_present() && !session::is_pretty() => {
            (Some(FormatName::Table), false)
        }
        Mode::Auto => (None, false),
        Mode::Pretty => (Some(FormatName::Jsonl), true),
        Mode::Json => (Some(FormatName::Json), false),
        Mode::Jsonl => (Some(FormatName::Jsonl), false),
        Mode::Table => (Some(FormatName::Table), false),
        Mode::Csv => (Some(FormatName::Csv), false),
        Mode::Tsv => (Some(FormatName::Tsv), false),
        Mode::Markdown => (Some(FormatName::Markdown), false),
    }
}

/// The format of a command that prints figures.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct FormatArg {
    /// Print the rows in this format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatName>,
}

/// The format of a command that prints documents.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct DocumentFormatArgs {
    /// Print the documents in this format; by default as a table on a terminal, and as jsonl elsewhere (the setting `mode`). Tables, CSV and Markdown have a column for each field of the first 1,000 documents (fewer, if these are larger than 8 MiB), in the order of appearance: a.b is the field b of the map a, and arrays are JSON. A field that appears only in a later document is an error in csv and tsv, and a note in table and markdown: find, scan and get choose the columns with --fields, and export, also with --pipeline, finds all of them
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// Print documents indented, with one field per line
    #[arg(long)]
    pretty: bool,
    /// The format without --format and --pretty; the setting `mode` is its default
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Mode::Auto, hide = true)]
    mode: Mode,
}

/// The format of documents, as the user chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentFormat {
    /// `None` means JSON: one object per line, or in a shell on a terminal one field per line.
    pub name: Option<FormatName>,
    /// How JSON is printed.
    pub json: json::Format,
}

impl DocumentFormatArgs {
    /// Determines the format.
    ///
    /// # Errors
    /// The options contradict each other.
    pub(crate) fn resolve(self, printed: Printed) -> Outcome<DocumentFormat> {
        if self.pretty && self.format.is_some_and(|format| !format.is_json()) {
            return Err(Failure::Usage("--pretty is for JSON: leave it out, or choose json or jsonl".to_owned()));
        }
        let (name, pretty) = match (self.format, self.pretty) {
            (None, false) => format_of(session::mode().unwrap_or(self.mode), printed),
            given => given,
        };
        let json = if pretty { json::Format::PRETTY } else { json::Format::RELAXED };
        Ok(DocumentFormat { name, json })
    }
}

impl From<FormatName> for DocumentFormat {
    fn from(name: FormatName) -> Self {
        Self { name: Some(name), json: json::Format::RELAXED }
    }
}

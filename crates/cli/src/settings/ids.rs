//! Document ids and field paths on the command line.

use alluvium::{Scan, Value};
use document::json;

/// Options of commands that take ids.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct IdArgs {
    /// Take ids for strings, also those that look like JSON
    #[arg(long)]
    id_string: bool,
}

impl IdArgs {
    /// An id: extended JSON, or else the string that was written.
    pub(crate) fn parse(self, text: &str) -> Value {
        let string = || Value::from(text);
        if self.id_string { string() } else { json::parse(text.as_bytes()).unwrap_or_else(|_| string()) }
    }
}

/// Options of commands that go over documents in the order of their ids.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RangeArgs {
    /// From this _id on, itself included, in ascending order, also with --reverse
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    from: Option<String>,
    /// Up to this _id, itself excluded, in ascending order, also with --reverse
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    to: Option<String>,
    /// From the highest _id to the lowest
    #[arg(long)]
    reverse: bool,
    /// At most so many documents
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl RangeArgs {
    /// Narrows a scan.
    pub(crate) fn apply(&self, mut scan: Scan, ids: IdArgs) -> Scan {
        if let Some(from) = &self.from {
            scan = scan.from(ids.parse(from));
        }
        if let Some(to) = &self.to {
            scan = scan.to(ids.parse(to));
        }
        if self.reverse {
            scan = scan.reverse();
        }
        if let Some(limit) = self.limit {
            scan = scan.limit(limit);
        }
        scan
    }
}

/// Options of commands that print documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FieldArgs {
    /// Print only these fields and the _id: paths, separated by commas
    #[arg(long, value_name = "a,b.c", value_delimiter = ',')]
    fields: Option<Vec<String>>,
}

impl FieldArgs {
    /// The paths, or nothing for whole documents.
    pub(crate) fn paths(&self) -> Option<Vec<&str>> {
        let paths = self.fields.as_ref()?;
        Some(paths.iter().map(|path| path.trim()).filter(|path| !path.is_empty()).collect())
    }
}

/// An id as text for messages: as it would be written on the command line with all its types.
pub(crate) fn show(id: &Value) -> String {
    json::to_string(id, json::Format::RELAXED).unwrap_or_else(|_| "(not printable)".to_owned())
}

#[cfg(test)]
mod tests;

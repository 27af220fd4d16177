//! Document ids and field paths on the command line.

use alluvium::Value;
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

//! Document ids and field paths on the command line.

use crate::exit::{Failure, Outcome};
use crate::relaxed;
use crate::text;
use alluvium::{Document, Map, Scan, Value};
use alluvium_document::json;
use alluvium_document::path::FieldPath;

/// Options of commands that take ids.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct IdArgs {
    /// Take each _id as a string, even if it looks like JSON
    #[arg(long)]
    id_string: bool,
}

impl IdArgs {
    /// Parses an `_id`: extended JSON, or else a string with the text itself.
    pub(crate) fn parse(self, text: &str) -> Value {
        let string = || Value::from(text);
        match self.id_string {
            true => string(),
            // Text in relaxed notation such as `{$oid: '…'}` is parsed. A word in single quotes is not: it is a string
            // that includes the quotes.
            false if text.starts_with('{') => relaxed::parse(text).unwrap_or_else(|_| string()),
            false => json::parse(text.as_bytes()).unwrap_or_else(|_| string()),
        }
    }
}

impl IdArgs {
    /// The `_id` that the text means with the opposite choice of `--id-string`, with the advice for it; `None` if that
    /// is the same `_id`.
    fn other(self, text: &str, id: &Value) -> Option<(Value, &'static str)> {
        let (other, hint) = match self.id_string {
            true => (Self { id_string: false }.parse(text), "leave out --id-string"),
            false => (Value::from(text), "add --id-string"),
        };
        (other != *id).then_some((other, hint))
    }

    /// For an `_id` that is not found: if a document has the `_id` that the text means with the opposite choice of
    /// `--id-string`, the advice in parentheses; otherwise empty.
    pub(crate) fn hint(self, text: &str, id: &Value, is_there: impl FnOnce(Value) -> Outcome<bool>) -> Outcome<String> {
        match self.other(text, id) {
            Some((other, hint)) if is_there(other.clone())? => {
                Ok(format!(" (there is a document with the _id {}: {hint})", show(&other)))
            }
            _ => Ok(String::new()),
        }
    }
}

/// Options of commands that read documents in order of `_id`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RangeArgs {
    /// Start at this _id (inclusive); the range is the same with --reverse
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    from: Option<String>,
    /// End before this _id (exclusive); the range is the same with --reverse
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    to: Option<String>,
    /// Print in descending order of _id
    #[arg(long)]
    reverse: bool,
    /// Print at most N documents; 0 means no limit, the default
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl RangeArgs {
    /// The first given option that concerns the order of `_id`s.
    pub(crate) fn of_ids(&self) -> Option<&'static str> {
        let given = [("--from", self.from.is_some()), ("--to", self.to.is_some()), ("--reverse", self.reverse)];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// The maximum number of documents; 0 means no limit.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.unwrap_or(0)
    }

    /// Sets the options of a scan.
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
    /// Print only these fields and the _id, separated by commas: a.b is the field b of the map a, a.0 the first element of the array a. A field with a dot in its name is printed only with whole documents
    #[arg(long, value_name = "a,b.c", value_delimiter = ',')]
    fields: Option<Vec<String>>,
}

impl FieldArgs {
    /// The paths; `None` for whole documents.
    pub(crate) fn paths(&self) -> Outcome<Option<Vec<&str>>> {
        self.fields.as_deref().map(|fields| paths_of("--fields", fields)).transpose()
    }
}

/// The paths in the value of an option, trimmed.
pub(crate) fn paths_of<'f>(option: &str, fields: &'f [String]) -> Outcome<Vec<&'f str>> {
    let mut paths: Vec<&str> = Vec::with_capacity(fields.len());
    for path in fields.iter().map(|path| path.trim()) {
        if path.is_empty() {
            return Err(Failure::Usage(format!("{option}: a field has no name")));
        }
        if let Err(error) = path.parse::<FieldPath>() {
            return Err(Failure::Usage(format!("{option}: {path:?} is not a path: {error}")));
        }
        if paths.contains(&path) {
            return Err(Failure::Usage(format!("{option} names {} twice", text::plain(path))));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// The fields of a document at these paths, and its `_id`, in the form that a scan returns: the paths are the names of
/// the fields.
pub(crate) fn fields_of(document: &Document, paths: &[&str]) -> Outcome<Map> {
    let damaged = |error: alluvium_document::row::RowError| {
        Failure::Damaged(format!("document {} is damaged: {error}", show(document.id())))
    };
    let mut fields = Map::new();
    fields.push("_id", document.id().clone());
    for path in paths.iter().filter(|path| **path != "_id") {
        if let Some(value) = document.get_path(path).map_err(damaged)? {
            fields.push(*path, value.to_value().map_err(damaged)?);
        }
    }
    Ok(fields)
}

/// An `_id` as text for messages, in the notation of the command line that keeps its type.
pub fn show(id: &Value) -> String {
    json::to_string(id, json::Format::RELAXED).unwrap_or_else(|_| "(not printable)".to_owned())
}

#[cfg(test)]
mod tests;

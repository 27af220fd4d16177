//! Records that cannot be stored: their errors and their rejects.

use super::{Load, OnBad, Progress, RecordPlace};
use alluvium_collections::error::{Error, Result};
use alluvium_collections::ids::{CHECKED_TEXT_BYTES_MIN, MAX_DOCUMENT_BYTES};
use alluvium_document::{Map, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::Write;

/// A record that cannot be stored.
pub(super) struct BadLine {
    /// The position at which the next run begins if this record ends the load.
    pub place: RecordPlace,
    pub refused: Refused,
    pub text: Vec<u8>,
}

/// The reason of a refusal, and the position of the error.
pub(super) struct Refused {
    /// The line within the slice, from 0.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    pub reason: String,
    /// The error of the collection, if the record is a valid document that the collection refuses.
    pub error: Option<Box<Error>>,
}

impl Load<'_> {
    /// The error for a record that ends the load; the slice begins at line `base`.
    pub(super) fn bad_line(&self, bad: &BadLine, base: u64) -> Error {
        let Refused { line, column, reason, error } = &bad.refused;
        let (name, line) = (&self.name, base + line + 1);
        if let Some(error) = error {
            let what = self.settings.format.counted();
            return Error::LoadOf { input: name.clone(), what, line, error: error.clone() };
        }
        if !self.settings.format.counts_lines() {
            return Error::Load(format!("{name} document {line} (from byte {}): {reason}", bad.place.offset));
        }
        Error::Load(format!("{name} line {line} column {column}: {reason}"))
    }

    /// Writes one line of JSON for each rejected record.
    pub(super) fn reject(&self, bad: &[BadLine], base: u64) -> Result<()> {
        if self.settings.on_bad != OnBad::Skip || bad.is_empty() {
            return Ok(());
        }
        Progress::add(&self.progress.rejected, bad.len() as u64);
        let mut rejects = self.rejects.lock();
        let Some(out) = rejects.as_mut() else { return Ok(()) };
        for bad in bad {
            let Refused { line, column, reason, .. } = &bad.refused;
            let line = match self.settings.format.counts_lines() {
                true => serde_json::json!({
                    "line": base + line + 1,
                    "column": column,
                    "reason": reason,
                    "text": String::from_utf8_lossy(&bad.text),
                }),
                false => serde_json::json!({
                    "document": base + line + 1,
                    "byte": bad.place.offset,
                    "reason": reason,
                    "base64": STANDARD.encode(&bad.text),
                }),
            };
            writeln!(out, "{line}").map_err(|e| Error::Load(format!("cannot write rejects: {e}")))?;
        }
        Ok(())
    }
}

impl RecordPlace {
    /// Refuses the record at this position.
    pub(super) fn refused(self, reason: String) -> Refused {
        Refused { line: self.line, column: self.column + 1, reason, error: None }
    }

    /// Refuses the document at this position, with the error of the collection.
    pub(super) fn refused_by(self, error: Error) -> Refused {
        Refused { error: Some(Box::new(error.clone())), ..self.refused(error.to_string()) }
    }
}

/// Refuses a document over the size limit. `id` returns the number of bytes that its `_id` adds.
pub(super) fn check_size(
    text: &[u8],
    place: RecordPlace,
    id: impl Fn(&Map) -> usize,
) -> std::result::Result<(), Refused> {
    if text.len() < CHECKED_TEXT_BYTES_MIN {
        return Ok(());
    }
    let size = match alluvium_document::json::parse(text) {
        Ok(Value::Map(map)) => {
            let id = id(&map);
            alluvium_document::bson::document_size(&map) + id
        }
        _ => 0,
    };
    check_document_size(size, place)
}

pub(super) fn check_document_size(size: usize, place: RecordPlace) -> std::result::Result<(), Refused> {
    if size > MAX_DOCUMENT_BYTES {
        let what = format!("the document has {size} bytes as BSON; the limit is {MAX_DOCUMENT_BYTES}");
        return Err(place.refused(what));
    }
    Ok(())
}

//! What cannot be stored of an input: how that is told, and where it goes.

use super::{Load, OnBad, Place, Progress};
use alluvium_collections::error::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::Write;

/// A record that cannot be stored.
pub(super) struct BadLine {
    /// Where the next run goes on if this one ends here.
    pub place: Place,
    pub refused: Refused,
    pub text: Vec<u8>,
}

/// What is wrong, and where.
pub(super) struct Refused {
    /// Within the slice, from 0.
    pub line: u64,
    /// From 1.
    pub column: u64,
    pub reason: String,
    /// Of a document that is whole: why it cannot be stored.
    pub error: Option<Box<Error>>,
}

impl Load<'_> {
    /// The error for a record that ends the load.
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

    /// Writes rejected lines: a line of JSON for each.
    pub(super) fn reject(&self, bad: &[BadLine], base: u64) -> Result<()> {
        if self.settings.on_bad == OnBad::Error || bad.is_empty() {
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

impl Place {
    /// A record that is refused as a whole.
    pub(super) fn refused(self, reason: String) -> Refused {
        Refused { line: self.line, column: self.column + 1, reason, error: None }
    }

    /// A document that the collection does not take.
    pub(super) fn refused_by(self, error: Error) -> Refused {
        Refused { error: Some(Box::new(error.clone())), ..self.refused(error.to_string()) }
    }
}

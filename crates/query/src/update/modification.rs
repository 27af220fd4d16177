//! Modifications of documents of all kinds.

use super::piped::Piped;
use super::replace::{Replacement, is_update};
use super::{Update, UpdateError};
use alluvium_document::{Map, Value};

/// A modification of a document: by operators, by a replacement, or by a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Modification {
    /// Changes the document by operators.
    Update(Update),
    /// Replaces the document.
    Replacement(Replacement),
    /// Changes the document by a pipeline.
    Piped(Piped),
}

impl Modification {
    /// Parses the operand of an update. It has operators if the first name begins with a dollar
    /// sign; otherwise it is a replacement.
    ///
    /// # Errors
    /// As [`Update::parse_with`] and [`Replacement::parse`]; [`UpdateError::FailedToParse`] for array filters of a
    /// replacement.
    pub fn parse(update: &Map, array_filters: &[Value]) -> Result<Self, UpdateError> {
        if is_update(update) {
            return Update::parse_with(update, array_filters).map(Self::Update);
        }
        if !array_filters.is_empty() {
            let message = "array filters are for update operators, not for a replacement document";
            return Err(UpdateError::FailedToParse(message.to_owned()));
        }
        Replacement::parse(update).map(Self::Replacement)
    }
}

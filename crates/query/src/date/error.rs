//! Errors of dates.

use crate::code::ErrorCode;

/// The reason why a date has no text or part, or why a text is not a date, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct DateError {
    pub code: ErrorCode,
    pub message: String,
}

impl DateError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A text that is not a date.
    pub fn text(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ConversionFailure, message)
    }
}

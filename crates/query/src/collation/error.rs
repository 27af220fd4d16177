//! Errors of collations.

use crate::code::ErrorCode;

/// The reason why the options of a collation are refused, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CollationError {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl CollationError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        self.code
    }
}

pub(super) fn refuse<T>(code: ErrorCode, message: impl Into<String>) -> Result<T, CollationError> {
    Err(CollationError { code, message: message.into() })
}

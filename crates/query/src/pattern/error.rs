//! Errors of patterns.

use crate::code::ErrorCode;
use crate::interrupt::Interruption;

/// The reason why a pattern was refused, or why a search ended without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    /// The pattern is not a regular expression, uses a feature that is not supported, or is too
    /// large once compiled.
    #[error("{0}")]
    Invalid(String),
    /// The options contain a character other than `imsx`.
    #[error("{0}")]
    InvalidOptions(String),
    /// The pattern or its options have a zero character.
    #[error("{0}")]
    Zero(String),
    /// The search in one text took more than [`crate::pattern::MATCH_STEPS_MAX`] steps, or too much memory.
    #[error("{0}")]
    TooManySteps(String),
    /// The query must end.
    #[error(transparent)]
    Interrupted(#[from] Interruption),
}

impl PatternError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => ErrorCode::Location51091,
            Self::InvalidOptions(_) => ErrorCode::Location51108,
            Self::Zero(_) => ErrorCode::BadValue,
            Self::TooManySteps(_) => ErrorCode::Location51156,
            Self::Interrupted(interruption) => interruption.code,
        }
    }
}

//! Errors of projections.

use alluvium_document::Value;
use alluvium_document::row::RowError;

use crate::code::ErrorCode;
use crate::expression::{EvaluateError, ExpressionError};
use crate::filter::{FilterError, MatchError};

/// The reason why a projection is refused or cannot be applied, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// Paths collide, inclusions and exclusions are mixed, or an operand is malformed. The second
    /// value is MongoDB's code.
    #[error("{0}")]
    Invalid(String, ErrorCode),
    /// An expression is invalid or not supported, or cannot be evaluated for a document.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// The condition of an `$elemMatch` is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The filter selects no element for a positional projection.
    #[error("the filter selects no element of an array for the projection '{0}.$': add a condition on the array")]
    NoPosition(String),
    /// The filter selects a position for a positional projection, but the array has no element
    /// there, or the projection leaves out the element.
    #[error(
        "the array of the projection '{0}.$' has no element at the position that the filter selects in another array: write the condition on '{0}' last"
    )]
    NoElement(String),
    /// A document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

impl ProjectionError {
    /// The error, with the `_id` of the document for which an expression failed.
    #[cold]
    pub fn of_document(self, id: &Value) -> Self {
        match self {
            Self::Expression(error) => Self::Expression(error.of_document(id)),
            Self::Filter(error) => Self::Filter(error.of_document(id)),
            other => other,
        }
    }

    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_, code) => *code,
            Self::Expression(error) => error.code,
            Self::Filter(error) => error.code(),
            Self::NoPosition(_) => ErrorCode::Location51246,
            Self::NoElement(_) => ErrorCode::Location51247,
            Self::Damaged(_) => ErrorCode::DataCorruptionDetected,
        }
    }
}

impl From<MatchError> for ProjectionError {
    fn from(error: MatchError) -> Self {
        match error {
            MatchError::Damaged(error) => Self::Damaged(error),
            MatchError::Filter(error) => Self::Filter(error),
        }
    }
}

impl From<EvaluateError> for ProjectionError {
    fn from(error: EvaluateError) -> Self {
        match error {
            EvaluateError::Damaged(error) => Self::Damaged(error),
            EvaluateError::Expression(error) => Self::Expression(error),
        }
    }
}

//! Errors of updates.

use alluvium_document::path::PathError;
use alluvium_document::row::RowError;

use crate::code::ErrorCode;
use crate::expression::ExpressionError;
use crate::filter::{FilterError, MatchError};
use crate::interrupt::Interruption;
use crate::pipeline::PipelineError;

/// The reason why an update was refused, with MongoDB's code for it. The message names the operator
/// and the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The update is malformed: an unknown operator, an operand of the wrong form, or a document
    /// without operators.
    #[error("{0}")]
    FailedToParse(String),
    /// An operand, or the value in the document, is not allowed for the operator; or an integer
    /// overflows.
    #[error("{0}")]
    BadValue(String),
    /// An operand, or the value in the document, has the wrong type.
    #[error("{0}")]
    TypeMismatch(String),
    /// The document would nest deeper than [`alluvium_document::MAX_DEPTH`].
    #[error("{0}")]
    Overflow(String),
    /// A path leads through a value that is not a map or array.
    #[error("{0}")]
    PathNotViable(String),
    /// A position is too far beyond the end of an array.
    #[error("{0}")]
    CannotBackfillArray(String),
    /// Two operators would change the same field, or a field and another field inside it.
    #[error("{0}")]
    ConflictingUpdateOperators(String),
    /// A top-level field name begins with a dollar sign.
    #[error("{0}")]
    DollarPrefixedFieldName(String),
    /// The filter of an upsert demands two values for a field, or values for a field and another
    /// field inside it.
    #[error("{0}")]
    NotSingleValueField(String),
    /// The filter of an upsert demands parts of `_id` instead of the whole value.
    #[error("{0}")]
    NotExactValueField(String),
    /// A name in a path is empty.
    #[error("{0}")]
    EmptyFieldName(String),
    /// `_id` would change.
    #[error("{0}")]
    ImmutableField(String),
    /// The document or delta would be larger than [`crate::update::MAX_DOCUMENT_BYTES`], or the
    /// paths select too many elements.
    #[error("{0}")]
    TooLarge(String),
    /// A condition of `$pull`, or an array filter, is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A pipeline of an update is invalid, or cannot be applied.
    #[error(transparent)]
    Pipeline(PipelineError),
    /// The document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

impl UpdateError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BadValue(_) => ErrorCode::BadValue,
            Self::Pipeline(error) => error.code(),
            Self::FailedToParse(_) => ErrorCode::FailedToParse,
            Self::TypeMismatch(_) => ErrorCode::TypeMismatch,
            Self::Overflow(_) => ErrorCode::Overflow,
            Self::PathNotViable(_) => ErrorCode::PathNotViable,
            Self::CannotBackfillArray(_) => ErrorCode::CannotBackfillArray,
            Self::ConflictingUpdateOperators(_) => ErrorCode::ConflictingUpdateOperators,
            Self::DollarPrefixedFieldName(_) => ErrorCode::DollarPrefixedFieldName,
            Self::NotSingleValueField(_) => ErrorCode::NotSingleValueField,
            Self::NotExactValueField(_) => ErrorCode::NotExactValueField,
            Self::EmptyFieldName(_) => ErrorCode::EmptyFieldName,
            Self::ImmutableField(_) => ErrorCode::ImmutableField,
            Self::Filter(error) => error.code(),
            Self::Damaged(_) => ErrorCode::DataCorruptionDetected,
            Self::TooLarge(_) => ErrorCode::BSONObjectTooLarge,
        }
    }

    /// The error for a top-level field whose name begins with a dollar sign, at a path. The message contains the
    /// phrases by which programs recognise MongoDB's error: the phrase of versions before 5.0 and the phrase of later
    /// versions.
    pub(crate) fn of_dollar(name: &str, path: &str) -> Self {
        Self::DollarPrefixedFieldName(format!(
            "The dollar ($) prefixed field '{name}' in '{path}' is not valid for storage: it is not allowed in the context \
             of an update's replacement document. Consider using an aggregation pipeline with $replaceWith."
        ))
    }

    /// The error for a malformed path.
    pub(crate) fn of_path(text: &str, error: PathError) -> Self {
        let message = format!("the path '{text}' cannot be updated: {error}");
        match error {
            PathError::EmptyName => Self::EmptyFieldName(message),
            PathError::TooLong => Self::Overflow(message),
            PathError::Nul => Self::BadValue(message),
        }
    }
}

impl From<Interruption> for UpdateError {
    fn from(interruption: Interruption) -> Self {
        Self::Filter(ExpressionError::from(interruption).into())
    }
}

impl From<MatchError> for UpdateError {
    fn from(error: MatchError) -> Self {
        match error {
            MatchError::Damaged(error) => Self::Damaged(error),
            MatchError::Filter(error) => Self::Filter(error),
        }
    }
}

//! Errors of filters.

use alluvium_document::Value;
use alluvium_document::row::RowError;

use crate::code::ErrorCode;
use crate::expression::ExpressionError;
use crate::pattern::PatternError;

/// The reason why a filter was refused, with MongoDB's code for it. The message names the operator
/// and the field, and states what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// An operator is unknown, or its operand is not allowed.
    #[error("{0}")]
    BadValue(String),
    /// An operand has the right type, but a value that is not allowed.
    #[error("{0}")]
    FailedToParse(String),
    /// An operand has the wrong type. For most operators this is [`FilterError::BadValue`].
    #[error("{0}")]
    TypeMismatch(String),
    /// A regular expression has options, and an additional `$options` has others. The second value
    /// is MongoDB's code.
    #[error("{0}")]
    OptionsTwice(String, ErrorCode),
    /// The operator is not allowed in this filter, such as `$expr` in an array filter.
    #[error("{0}")]
    NotAllowed(String),
    /// An operator that MongoDB has and Alluvium does not support. The message names it.
    #[error("{0}")]
    NotSupported(String),
    /// A pattern is not a regular expression, uses a feature that is not supported, or is too large
    /// once compiled.
    #[error("{0}")]
    InvalidRegex(String),
    /// The options of a regular expression are not among `imsx`.
    #[error("{0}")]
    InvalidRegexOptions(String),
    /// A pattern with look-around or back references took more steps on one text than
    /// [`crate::filter::MATCH_STEPS_MAX`].
    #[error("{0}")]
    TooManySteps(String),
    /// The filter nests deeper than [`alluvium_document::MAX_DEPTH`], or one of its paths has more
    /// names than that.
    #[error("{0}")]
    TooDeep(String),
    /// An `$expr` is not allowed or does not accept a value of a document, or the query was interrupted.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// The filter is larger than [`crate::filter::MAX_FILTER_BYTES`].
    #[error("{0}")]
    TooLarge(String),
}

impl FilterError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BadValue(_) => ErrorCode::BadValue,
            Self::FailedToParse(_) => ErrorCode::FailedToParse,
            Self::TypeMismatch(_) => ErrorCode::TypeMismatch,
            Self::OptionsTwice(_, code) => *code,
            Self::TooDeep(_) => ErrorCode::Overflow,
            Self::NotSupported(_) => ErrorCode::NotImplemented,
            Self::NotAllowed(_) => ErrorCode::QueryFeatureNotAllowed,
            Self::TooLarge(_) => ErrorCode::BSONObjectTooLarge,
            Self::InvalidRegex(_) => ErrorCode::Location51091,
            Self::InvalidRegexOptions(_) => ErrorCode::Location51108,
            Self::TooManySteps(_) => ErrorCode::Location51156,
            Self::Expression(error) => error.code,
        }
    }

    /// The error, with the `_id` of the document for which an expression failed.
    #[cold]
    pub fn of_document(self, id: &Value) -> Self {
        match self {
            Self::Expression(error) => Self::Expression(error.of_document(id)),
            other => other,
        }
    }

    /// [`FilterError::BadValue`].
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::BadValue(message.into())
    }
}

impl From<PatternError> for FilterError {
    fn from(error: PatternError) -> Self {
        match error {
            PatternError::Invalid(message) => Self::InvalidRegex(message),
            PatternError::InvalidOptions(message) => Self::InvalidRegexOptions(message),
            PatternError::Zero(message) => Self::BadValue(message),
            PatternError::TooManySteps(message) => Self::TooManySteps(message),
            PatternError::Interrupted(interruption) => Self::Expression(interruption.into()),
        }
    }
}

/// The reason why a document could not be tested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// A value that the filter examines is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
    /// [`FilterError::TooManySteps`].
    #[error(transparent)]
    Filter(#[from] FilterError),
}

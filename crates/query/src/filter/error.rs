//! Why a filter is refused.

use crate::code::ErrorCode;

/// Why a filter is refused, with MongoDB's code for it. The message says which operator and field, and what is right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// An operator is unknown, or an operand is not one that its operator takes.
    #[error("{0}")]
    BadValue(String),
    /// An operand is of a type that its operator takes, and not one of the values.
    #[error("{0}")]
    FailedToParse(String),
    /// An operand is of a type that its operator does not take; of most operators this is [`FilterError::BadValue`].
    #[error("{0}")]
    TypeMismatch(String),
    /// A regular expression has options of its own and others beside it; and MongoDB's code for it.
    #[error("{0}")]
    OptionsTwice(String, ErrorCode),
    /// An operator of MongoDB that Alluvium does not have. The message names it.
    #[error("{0}")]
    NotSupported(String),
    /// A pattern is no regular expression, has what they do not have here, or compiles to too much.
    #[error("{0}")]
    InvalidRegex(String),
    /// The options of a regular expression are not among `imsx`.
    #[error("{0}")]
    InvalidRegexOptions(String),
    /// The filter nests deeper than [`alluvium_document::MAX_DEPTH`], or a path in it has more names.
    #[error("{0}")]
    TooDeep(String),
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
            Self::TooLarge(_) => ErrorCode::BSONObjectTooLarge,
            Self::InvalidRegex(_) => ErrorCode::Location51091,
            Self::InvalidRegexOptions(_) => ErrorCode::Location51108,
        }
    }

    /// [`FilterError::BadValue`].
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::BadValue(message.into())
    }
}

//! Errors of index definitions, and of documents that cannot be indexed.

use alluvium_document::row::RowError;

use crate::code::ErrorCode;
use crate::collation::CollationError;
use crate::filter::{FilterError, MatchError};

/// The reason why an index definition is refused, or a document cannot be indexed, with MongoDB's
/// code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A definition is malformed, or uses a feature that is not supported.
    #[error("{0}")]
    CannotCreateIndex(String),
    /// An option has the wrong type.
    #[error("{0}")]
    TypeMismatch(String),
    /// A name that is not allowed, or an index on `_id` whose order differs from the order of the
    /// documents.
    #[error("{0}")]
    BadValue(String),
    /// An option is unknown, or not allowed for the index on `_id`.
    #[error("{0}")]
    InvalidOption(String),
    /// More parts than allowed, or hashed parts where they are not allowed. The second value is
    /// MongoDB's code.
    #[error("{0}")]
    InvalidParts(String, ErrorCode),
    /// The partial filter is not valid.
    #[error("the partialFilterExpression is wrong: {0}")]
    Filter(FilterError),
    /// The collation is not valid.
    #[error("the collation of an index is wrong: {0}")]
    Collation(CollationError),
    /// Two parts of an index lead through different arrays of one document.
    #[error("{0}")]
    ParallelArrays(String),
    /// A document has an array at the path of a hashed part.
    #[error("{0}")]
    HashedArray(String),
    /// A number in a path is both a position in an array and a field of one of its maps.
    #[error("{0}")]
    AmbiguousPath(String),
    /// A document has more than [`crate::index::MAX_KEYS`] keys, or more than [`crate::index::MAX_KEYS_BYTES`] bytes of
    /// keys.
    #[error("{0}")]
    KeyTooLong(String),
    /// The index on `_id` cannot be dropped.
    #[error("the index _id_ cannot be dropped: documents are stored in the order of their _id")]
    CannotDropId,
    /// The document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

impl IndexError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::CannotCreateIndex(_) => ErrorCode::CannotCreateIndex,
            Self::CannotDropId => ErrorCode::InvalidOptions,
            Self::TypeMismatch(_) => ErrorCode::TypeMismatch,
            Self::BadValue(_) => ErrorCode::BadValue,
            Self::InvalidOption(_) => ErrorCode::InvalidIndexSpecificationOption,
            Self::InvalidParts(_, code) => *code,
            Self::Filter(error) => error.code(),
            Self::Collation(error) => error.code(),
            Self::ParallelArrays(_) => ErrorCode::CannotIndexParallelArrays,
            Self::HashedArray(_) => ErrorCode::Location16766,
            Self::AmbiguousPath(_) => ErrorCode::Location16746,
            Self::KeyTooLong(_) => ErrorCode::KeyTooLong,
            Self::Damaged(_) => ErrorCode::InternalError,
        }
    }
}

impl From<MatchError> for IndexError {
    fn from(error: MatchError) -> Self {
        match error {
            MatchError::Damaged(error) => Self::Damaged(error),
            MatchError::Filter(error) => Self::Filter(error),
        }
    }
}

//! Why an index, or a document under an index, is refused.

use alluvium_document::row::RowError;

use crate::code::ErrorCode;
use crate::filter::FilterError;

/// Why an index, or a document under an index, is refused, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A definition is malformed, or asks for something that is not supported.
    #[error("{0}")]
    CannotCreateIndex(String),
    /// An option is of the wrong type.
    #[error("{0}")]
    TypeMismatch(String),
    /// A name that no index may have, or another order of `_id` than the one that documents lie in.
    #[error("{0}")]
    BadValue(String),
    /// An option is unknown, or does not go with the index on `_id`.
    #[error("{0}")]
    InvalidOption(String),
    /// More parts than an index may have, or hashed ones where they cannot be; and MongoDB's code for it.
    #[error("{0}")]
    InvalidParts(String, ErrorCode),
    /// A partial filter is no filter.
    #[error("the partialFilterExpression is wrong: {0}")]
    Filter(FilterError),
    /// Two parts of an index lead through different arrays of one document.
    #[error("{0}")]
    ParallelArrays(String),
    /// A hashed part meets an array.
    #[error("{0}")]
    HashedArray(String),
    /// A number in a path means an element of an array, and a field of its maps too.
    #[error("{0}")]
    AmbiguousPath(String),
    /// An index key is longer than [`crate::index::MAX_KEY_BYTES`], or there are more than
    /// [`crate::index::MAX_KEYS`], or of more bytes than [`crate::index::MAX_KEYS_BYTES`].
    #[error("{0}")]
    KeyTooLong(String),
    /// The index on `_id` is to be dropped.
    #[error("the index _id_ cannot be dropped: documents lie in the order of their _id")]
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
            Self::ParallelArrays(_) => ErrorCode::CannotIndexParallelArrays,
            Self::HashedArray(_) => ErrorCode::Location16766,
            Self::AmbiguousPath(_) => ErrorCode::Location16746,
            Self::KeyTooLong(_) => ErrorCode::KeyTooLong,
            Self::Damaged(_) => ErrorCode::InternalError,
        }
    }
}

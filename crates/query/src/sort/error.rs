//! Why documents cannot be sorted.

use alluvium_document::row::RowError;

use crate::code::ErrorCode;

/// Why a sort is refused, or a document cannot be sorted by it, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// A direction is no number.
    #[error("{0}")]
    Direction(String),
    /// A direction is neither 1 nor -1.
    #[error("{0}")]
    NotADirection(String),
    /// A path is malformed; beside the message MongoDB's code.
    #[error("{0}")]
    Path(String, ErrorCode),
    /// A path comes twice.
    #[error("{0}")]
    Duplicate(String),
    /// More than [`crate::sort::MAX_PARTS`] parts.
    #[error("a sort has at most {} parts", crate::sort::MAX_PARTS)]
    TooManyParts,
    /// A sort that MongoDB has and that is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// A document has arrays side by side in two parts of the sort.
    #[error("cannot sort by '{0}' and '{1}': both lead to arrays, which are not within each other")]
    ParallelArrays(String, String),
    /// A number in a path is a position and a name in one array.
    #[error("cannot sort by '{0}': '{1}' is a position in an array and a name in an element of it")]
    AmbiguousName(String, String),
    /// Positions and elements of arrays combine too often.
    #[error("cannot sort by '{0}': the arrays of a document combine in too many ways")]
    TooManyKeys(String),
    /// What is kept of the documents that come first is more than may be.
    #[error(
        "a sort needs more than {limit} bytes of memory: use a smaller limit, a projection, or an index that sorts"
    )]
    Memory {
        /// The bytes that it may need.
        limit: usize,
    },
    /// A document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

impl SortError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Direction(_) => ErrorCode::Location15974,
            Self::NotADirection(_) => ErrorCode::Location15975,
            Self::Path(_, code) => *code,
            Self::Duplicate(_) => ErrorCode::Location7472500,
            Self::TooManyParts => ErrorCode::Location13103,
            Self::Unsupported(_) => ErrorCode::FailedToParse,
            Self::ParallelArrays(..) | Self::TooManyKeys(_) => ErrorCode::BadValue,
            Self::AmbiguousName(..) => ErrorCode::Location16746,
            Self::Memory { .. } => ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed,
            Self::Damaged(_) => ErrorCode::DataCorruptionDetected,
        }
    }
}

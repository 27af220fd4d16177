//! Errors of sorts.

use alluvium_document::row::RowError;

use crate::code::ErrorCode;

/// The reason why a sort is refused, or a document cannot be sorted by it, with MongoDB's code for
/// it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// A direction is not a number.
    #[error("{0}")]
    Direction(String),
    /// A direction is neither 1 nor -1.
    #[error("{0}")]
    NotADirection(String),
    /// A path is malformed. The second value is MongoDB's code.
    #[error("{0}")]
    Path(String, ErrorCode),
    /// A sort by `$meta`, or by another expression. The second value is MongoDB's code.
    #[error("{0}")]
    Meta(String, ErrorCode),
    /// A path occurs twice.
    #[error("{0}")]
    Duplicate(String),
    /// More than [`crate::sort::MAX_PARTS`] parts.
    #[error("a sort has at most {} parts", crate::sort::MAX_PARTS)]
    TooManyParts,
    /// A feature of MongoDB's sorts that is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// Two parts of the sort lead through different arrays of a document.
    #[error("cannot sort by '{0}' and '{1}': both lead to arrays, and neither array contains the other")]
    ParallelArrays(String, String),
    /// A number in a path is both a position and a field name in one array.
    #[error("cannot sort by '{0}': '{1}' is a position in an array and a name in an element of it")]
    AmbiguousName(String, String),
    /// A document has too many combinations of positions and elements of arrays.
    #[error("cannot sort by '{0}': the arrays of a document combine in too many ways")]
    TooManyKeys(String),
    /// The documents kept for the sort exceed the memory limit, and the sort may not use files.
    #[error(
        "a sort needs more than {limit} bytes of memory, and disk use is not allowed: allow it, or use a smaller limit \
         or a projection"
    )]
    Memory {
        /// The limit in bytes.
        limit: usize,
    },
    /// The documents kept for the sort need more memory than is left of the memory that all queries share.
    #[error(
        "a sort needs more memory than is left for the queries of this database: allow it to use files, try again when \
         fewer queries run, use a smaller limit or a projection, or raise the memory budget"
    )]
    Shortage,
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
            Self::Path(_, code) | Self::Meta(_, code) => *code,
            Self::Duplicate(_) => ErrorCode::Location7472500,
            Self::TooManyParts => ErrorCode::Location13103,
            Self::Unsupported(_) => ErrorCode::FailedToParse,
            Self::ParallelArrays(..) | Self::TooManyKeys(_) => ErrorCode::BadValue,
            Self::AmbiguousName(..) => ErrorCode::Location16746,
            Self::Memory { .. } | Self::Shortage => ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed,
            Self::Damaged(_) => ErrorCode::DataCorruptionDetected,
        }
    }
}

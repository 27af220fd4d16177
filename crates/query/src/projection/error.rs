//! Why a projection is refused.

use alluvium_document::row::RowError;

use crate::filter::FilterError;
use crate::location;

/// Why a projection is refused, or cannot be applied, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// It is no projection: paths that collide, inclusions among exclusions, operands of the wrong form; beside the
    /// message MongoDB's code.
    #[error("{0}")]
    Invalid(String, i32),
    /// What MongoDB takes and is not made here: expressions and constants. The message names it.
    #[error("{0}")]
    NotSupported(String),
    /// The condition of an `$elemMatch` is none.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The filter tells no element for a positional projection.
    #[error("the filter tells no element of '{0}' for the projection '{0}.$': ask for one with $elemMatch")]
    NoPosition(String),
    /// A document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

impl ProjectionError {
    /// MongoDB's number for the error.
    pub fn code(&self) -> i32 {
        self.number_and_name().0
    }

    /// MongoDB's name for the error.
    pub fn code_name(&self) -> &'static str {
        self.number_and_name().1
    }

    fn number_and_name(&self) -> (i32, &'static str) {
        match self {
            Self::Invalid(_, code) => (*code, location::name(*code)),
            Self::NotSupported(_) => (238, "NotImplemented"),
            Self::Filter(error) => (error.code(), error.code_name()),
            Self::NoPosition(_) => (51246, location::name(51246)),
            Self::Damaged(_) => (301, "DataCorruptionDetected"),
        }
    }
}

//! Errors of the planner.

use super::access::Unusable;
use crate::code::ErrorCode;

/// The reason why a query has no plan, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The hint, or a sort by `$natural`, is malformed.
    #[error("{0}")]
    BadHint(String),
    /// The hint names an index that does not exist.
    #[error("the hint names the index {0}, which does not exist")]
    UnknownIndex(String),
    /// The hint names an index that is not built; only its definition is kept.
    #[error(
        "the hint names the index {0}, which is not built: text, geographic and wildcard indexes are kept as definitions"
    )]
    NotBuilt(String),
    /// The index of a [`crate::plan::Hint::Usable`] does not have an entry for every document that the filter may
    /// match.
    #[error("the hint names the index {index}: {why}")]
    HintCannotAnswer {
        /// The name of the index.
        index: String,
        /// The reason why the index cannot be used for the query.
        why: Unusable,
    },
}

impl PlanError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BadHint(_) | Self::UnknownIndex(_) | Self::NotBuilt(_) => ErrorCode::BadValue,
            Self::HintCannotAnswer { .. } => ErrorCode::NoQueryExecutionPlans,
        }
    }

    /// True if the hint names an index that does not exist.
    pub fn is_unknown_index(&self) -> bool {
        matches!(self, Self::UnknownIndex(_))
    }
}

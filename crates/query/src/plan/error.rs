//! Why there is no plan.

/// Why there is no plan, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The hint names an index that is not there.
    #[error("{0}")]
    BadHint(String),
    /// The index that the hint names does not have every document that the filter may match.
    #[error("{0}")]
    HintCannotAnswer(String),
}

impl PlanError {
    /// MongoDB's number for the error.
    pub fn code(&self) -> i32 {
        match self {
            Self::BadHint(_) => 2,
            Self::HintCannotAnswer(_) => 291,
        }
    }

    /// MongoDB's name for the error.
    pub fn code_name(&self) -> &'static str {
        match self {
            Self::BadHint(_) => "BadValue",
            Self::HintCannotAnswer(_) => "NoQueryExecutionPlans",
        }
    }
}

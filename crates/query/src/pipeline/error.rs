//! Errors of pipelines.

use crate::code::ErrorCode;
use crate::expression::{EvaluateError, ExpressionError};
use crate::filter::{FilterError, MatchError};
use crate::projection::ProjectionError;
use crate::sort::SortError;
use alluvium_document::LEVELS_MAX;
use alluvium_document::row::RowError;

/// The reason why a pipeline is refused, or cannot be applied to a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// A document is damaged.
    #[error(transparent)]
    Damaged(RowError),
    /// The caller of a long computation asked it to stop.
    #[error("stopped")]
    Stopped,
    /// A stage or expression is not allowed, or does not accept a value. The message names the stage or expression.
    #[error(transparent)]
    Refused(#[from] ExpressionError),
}

impl PipelineError {
    /// The error with the code that MongoDB uses within an accumulator of a group. Division by zero has special codes
    /// there.
    #[cold]
    pub(super) fn in_group(self) -> Self {
        match self {
            Self::Refused(mut error) if error.divides_by_zero() => {
                error.code = match error.code {
                    ErrorCode::BadValue => ErrorCode::Location4848401,
                    ErrorCode::Location16610 => ErrorCode::Location4848403,
                    other => other,
                };
                Self::Refused(error)
            }
            other => other,
        }
    }

    /// A stage needs more memory than it may take, and cannot continue in files.
    pub fn too_much_memory(stage: &str, limit: usize) -> Self {
        let message = format!(
            "{stage} needs more than {limit} bytes of memory: allow it to use files, filter before it, or keep fewer \
             fields"
        );
        Self::Refused(ExpressionError::new(ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed, message))
    }

    /// The memory that all queries share is exhausted. `may_use_files` is true if the stage may use files, but needs
    /// memory for the files themselves or cannot continue in files.
    pub fn memory_shortage(stage: &str, may_use_files: bool) -> Self {
        let (code, advice) = match may_use_files {
            true => (ErrorCode::ExceededMemoryLimit, ""),
            false => (ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed, "allow it to use files, "),
        };
        let message = format!(
            "{stage} needs more memory than is left for the queries of this database: {advice}try again when fewer \
             queries run, filter before it, or raise the memory budget"
        );
        Self::Refused(ExpressionError::new(code, message))
    }

    /// A stage makes a document that exceeds the maximum size of documents.
    pub fn too_large(stage: &str) -> Self {
        let message = format!("{stage} makes a document of more than 16 MiB: keep fewer documents or fields in it");
        Self::Refused(ExpressionError::new(ErrorCode::BSONObjectTooLarge, message))
    }

    /// A stage that must be the first of its pipeline, because it does not read the documents of other stages, is not
    /// the first.
    pub fn not_first(stage: &str) -> Self {
        Self::Refused(ExpressionError::new(ErrorCode::Location40602, format!("{stage} must be the first stage")))
    }

    /// The bytes read from a file differ from those that were written.
    pub fn damaged_file() -> Self {
        let message = "a temporary file of a pipeline is damaged: run the pipeline again";
        Self::Refused(ExpressionError::new(ErrorCode::DataCorruptionDetected, message))
    }

    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Damaged(_) => ErrorCode::DataCorruptionDetected,
            Self::Stopped => ErrorCode::Interrupted,
            Self::Refused(error) => error.code,
        }
    }
}

impl From<RowError> for PipelineError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::TooDeep => {
                let message = format!("a stage makes a document that nests deeper than {LEVELS_MAX} levels");
                Self::Refused(ExpressionError::new(ErrorCode::Overflow, message))
            }
            damaged => Self::Damaged(damaged),
        }
    }
}

impl From<EvaluateError> for PipelineError {
    fn from(error: EvaluateError) -> Self {
        match error {
            EvaluateError::Damaged(error) => error.into(),
            EvaluateError::Expression(error) => Self::Refused(error),
        }
    }
}

impl From<FilterError> for PipelineError {
    fn from(error: FilterError) -> Self {
        Self::Refused(ExpressionError::new(error.code(), error.to_string()))
    }
}

impl From<MatchError> for PipelineError {
    fn from(error: MatchError) -> Self {
        match error {
            MatchError::Damaged(error) => error.into(),
            MatchError::Filter(error) => error.into(),
        }
    }
}

impl From<SortError> for PipelineError {
    fn from(error: SortError) -> Self {
        match error {
            SortError::Damaged(error) => error.into(),
            error => Self::Refused(ExpressionError::new(error.code(), error.to_string())),
        }
    }
}

impl From<ProjectionError> for PipelineError {
    fn from(error: ProjectionError) -> Self {
        match error {
            ProjectionError::Damaged(error) => error.into(),
            error => Self::Refused(ExpressionError::new(error.code(), error.to_string())),
        }
    }
}

/// An error of a stage with this code.
pub(super) fn refuse<T>(code: ErrorCode, message: impl Into<String>) -> Result<T, PipelineError> {
    Err(PipelineError::Refused(ExpressionError::new(code, message)))
}

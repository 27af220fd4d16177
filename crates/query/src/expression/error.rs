//! Errors of expressions.

use crate::code::ErrorCode;
use crate::interrupt::Interruption;
use crate::pattern::PatternError;
use alluvium_document::Value;
use alluvium_document::row::RowError;

/// The reason why an expression is refused or cannot be evaluated, with MongoDB's code for it. The message names the
/// operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// MongoDB's code.
    pub code: ErrorCode,
    /// The description of the error, with the allowed values.
    pub message: String,
    divides_by_zero: bool,
}

impl ExpressionError {
    /// An error with this code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), divides_by_zero: false }
    }

    /// The error of an operator that divides by zero.
    #[cold]
    pub(crate) fn division_by_zero(code: ErrorCode, operator: &str) -> Self {
        Self { divides_by_zero: true, ..Self::new(code, format!("can't {operator} by zero")) }
    }

    /// True for a division by zero.
    pub(crate) fn divides_by_zero(&self) -> bool {
        self.divides_by_zero
    }

    /// The error with the `_id` of the document for which the evaluation failed.
    #[cold]
    pub fn of_document(self, id: &Value) -> Self {
        Self { message: format!("document {id}: {}", self.message), ..self }
    }
}

impl From<Interruption> for ExpressionError {
    fn from(interruption: Interruption) -> Self {
        Self::new(interruption.code, interruption.message)
    }
}

impl From<Interruption> for EvaluateError {
    fn from(interruption: Interruption) -> Self {
        Self::Expression(interruption.into())
    }
}

impl From<PatternError> for ExpressionError {
    fn from(error: PatternError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// The reason why an expression has no value for a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// The document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
    /// An operator does not accept an argument, or its result is too large.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

/// An error with this code.
pub(crate) fn fail<T>(code: ErrorCode, message: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError::new(code, message))
}

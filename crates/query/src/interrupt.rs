//! Early ending of long evaluations of expressions, filters and patterns.

use crate::code::ErrorCode;
use std::fmt;
use std::sync::Arc;

/// The reason why an evaluation was ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Interruption {
    /// MongoDB's code.
    pub code: ErrorCode,
    /// The description of the limit that was reached.
    pub message: String,
}

/// Ends an evaluation of an expression or a filter early if the query must end.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> Result<(), Interruption> + Send + Sync>);

impl Interrupt {
    /// Evaluations call `check` in proportion to their work, and end with its error.
    pub fn new(check: impl Fn() -> Result<(), Interruption> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Returns an error if the query must end.
    ///
    /// # Errors
    /// The reason.
    pub fn check(&self) -> Result<(), Interruption> {
        (self.0)()
    }
}

/// An interrupt does not change the value of an expression, so all interrupts are equal.
impl PartialEq for Interrupt {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Interrupt {}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

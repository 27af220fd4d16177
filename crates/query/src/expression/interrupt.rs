//! Ending evaluations early.

use super::error::ExpressionError;
use std::fmt;
use std::sync::Arc;

/// The loops of expressions ask this often, in elements.
const STEPS: u32 = 64;

/// Ends the evaluation of an expression whose query must end.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> Result<(), ExpressionError> + Send + Sync>);

impl Interrupt {
    /// Evaluations call `check` after every 64 elements of arrays that operators such as `$map` visit. If it fails, so do
    /// they.
    pub fn new(check: impl Fn() -> Result<(), ExpressionError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Counts a step.
    pub(super) fn step(&self, steps: &mut u32) -> Result<(), ExpressionError> {
        *steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS) { (self.0)() } else { Ok(()) }
    }
}

/// It does not change the value of an expression.
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

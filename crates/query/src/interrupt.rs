//! Ending of long evaluations: those of expressions, filters and patterns.

use crate::code::ErrorCode;
use std::fmt;
use std::sync::Arc;

/// The interrupt is asked after this number of units of work: about a byte that is compared or
/// copied each.
pub(crate) const ASK_UNITS: u64 = 1 << 16;

/// The reason why an evaluation was ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Interruption {
    /// MongoDB's code.
    pub code: ErrorCode,
    /// The limit that was reached.
    pub message: String,
}

/// Ends the evaluation of an expression or a filter whose query must end.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> Result<(), Interruption> + Send + Sync>);

impl Interrupt {
    /// Evaluations call `check` in proportion to their work, and end with its error.
    pub fn new(check: impl Fn() -> Result<(), Interruption> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Fails if the query must end.
    pub(crate) fn check(&self) -> Result<(), Interruption> {
        (self.0)()
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

/// Counts the work of an evaluation, and asks the interrupt in proportion to it.
#[derive(Debug, Default)]
pub(crate) struct Work<'i> {
    interrupt: Option<&'i Interrupt>,
    units: u64,
}

impl<'i> Work<'i> {
    pub fn new(interrupt: Option<&'i Interrupt>) -> Self {
        Self { interrupt, units: 0 }
    }

    /// False if nothing ends the evaluation: its work need not be counted.
    pub fn is_counted(&self) -> bool {
        self.interrupt.is_some()
    }

    /// The interrupt that is asked.
    pub fn interrupt(&self) -> Option<&'i Interrupt> {
        self.interrupt
    }

    /// Adds units of work that was done or is about to be.
    #[inline]
    pub fn add(&mut self, units: usize) -> Result<(), Interruption> {
        self.units += units as u64;
        if self.units < ASK_UNITS { Ok(()) } else { self.ask() }
    }

    #[cold]
    fn ask(&mut self) -> Result<(), Interruption> {
        self.units = 0;
        self.interrupt.map_or(Ok(()), Interrupt::check)
    }
}

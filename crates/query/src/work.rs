//! The work of evaluations and the memory that they hold, and what ends them.

use crate::interrupt::{Interrupt, Interruption};
use crate::memory::{Held, Memory};

/// The interrupt is checked after this number of units of work. A unit is about one byte that is
/// compared or copied.
pub(crate) const ASK_UNITS: u64 = 1 << 16;

/// The limits that end evaluations early: their work and their memory are bounded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    pub interrupt: Option<Interrupt>,
    pub memory: Option<Memory>,
}

/// They do not change the value of an expression.
impl PartialEq for Bounds {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Bounds {}

/// Counts the work of an evaluation, and checks the interrupt in proportion to the work. Counts the memory that the
/// evaluation holds.
#[derive(Debug, Default)]
pub(crate) struct Work<'i> {
    interrupt: Option<&'i Interrupt>,
    units: u64,
    memory: Option<&'i Memory>,
    held: Held,
}

impl<'i> Work<'i> {
    /// The work of an evaluation, in addition to the memory that is held for the same document.
    pub fn new(bounds: &'i Bounds, held: Held) -> Self {
        Self { interrupt: bounds.interrupt.as_ref(), units: 0, memory: bounds.memory.as_ref(), held }
    }

    /// Work that this interrupt ends, and that holds no memory.
    pub fn asking(interrupt: Option<&'i Interrupt>) -> Self {
        Self { interrupt, ..Self::default() }
    }

    /// The bytes of the values that are held, to be given to [`Work::release`].
    #[inline]
    pub fn held(&self) -> usize {
        self.held.bytes()
    }

    /// Counts the memory of values that are kept until [`Work::release`].
    #[inline]
    pub fn hold(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.held.add(bytes, self.memory)
    }

    /// Counts the memory of a value that is being made, or is about to be, while others are held.
    #[inline]
    pub fn make(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.held.fit(bytes, self.memory)
    }

    /// The values that were held since are dropped.
    #[inline]
    pub fn release(&mut self, held: usize) {
        self.held.keep(held);
    }

    /// The memory that is still held.
    pub fn into_held(self) -> Held {
        self.held
    }

    /// False if nothing ends the evaluation: its work need not be counted.
    pub fn is_counted(&self) -> bool {
        self.interrupt.is_some()
    }

    /// The interrupt to check.
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

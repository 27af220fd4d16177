//! The work of evaluations, the memory that they hold, and the limits that end them.

use crate::interrupt::{Interrupt, Interruption};
use crate::memory::{Held, Memory};

/// The interrupt is checked after this number of units of work. A unit is about one byte that is
/// compared or copied.
pub(crate) const ASK_UNITS: u64 = 1 << 16;

/// The limits that can end an evaluation early: an interrupt for its work, and an account for its memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    pub interrupt: Option<Interrupt>,
    pub memory: Option<Memory>,
    /// The maximum size of a value that an expression makes, in bytes as BSON; `None` for the usual one.
    pub value_bytes_max: Option<usize>,
}

/// The limits do not change the value of an expression, so all limits are equal.
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
    value_bytes_max: Option<usize>,
}

impl<'i> Work<'i> {
    /// Starts to count the work of an evaluation. `held` is the memory that is already held for the same document.
    pub fn new(bounds: &'i Bounds, held: Held) -> Self {
        let Bounds { interrupt, memory, value_bytes_max } = bounds;
        let value_bytes_max = *value_bytes_max;
        Self { interrupt: interrupt.as_ref(), units: 0, memory: memory.as_ref(), held, value_bytes_max }
    }

    /// As [`Bounds::value_bytes_max`].
    pub fn value_bytes_max(&self) -> Option<usize> {
        self.value_bytes_max
    }

    /// Work that only checks this interrupt, and holds no memory.
    pub fn asking(interrupt: Option<&'i Interrupt>) -> Self {
        Self { interrupt, ..Self::default() }
    }

    /// The bytes of the values that are held at present. The number can be passed to [`Work::release`] later.
    #[inline]
    pub fn held(&self) -> usize {
        self.held.bytes()
    }

    /// Counts the memory of values that are held until [`Work::release`].
    #[inline]
    pub fn hold(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.held.add(bytes, self.memory)
    }

    /// Counts the memory of a value that is being made, or will be made next, in addition to the values that are held.
    #[inline]
    pub fn make(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.held.fit(bytes, self.memory)
    }

    /// Releases the values that were held after [`Work::held`] returned `held`.
    #[inline]
    pub fn release(&mut self, held: usize) {
        self.held.keep(held);
    }

    /// The memory that is still held.
    pub fn into_held(self) -> Held {
        self.held
    }

    /// False if there is no interrupt, so that work need not be counted.
    pub fn is_counted(&self) -> bool {
        self.interrupt.is_some()
    }

    /// The interrupt to check.
    pub fn interrupt(&self) -> Option<&'i Interrupt> {
        self.interrupt
    }

    /// Adds units of work, either before or after the work is done.
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

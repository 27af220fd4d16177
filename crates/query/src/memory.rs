//! The memory of the values that an evaluation holds: arguments, variables, and values under construction.

use crate::code::ErrorCode;
use crate::interrupt::Interruption;
use std::fmt;
use std::sync::Arc;

/// The memory of an evaluation is counted only if it exceeds this.
const FREE_BYTES: usize = 64 << 10;

/// Memory that is counted for one evaluation, until it is dropped.
pub trait MemoryCharge: Send {
    /// Counts at least this number of bytes in total, and returns the number that is now counted. Returns `None` and
    /// changes nothing if less memory is left.
    fn grow(&mut self, bytes: usize) -> Option<usize>;
}

/// The account of the values that the expressions of a query make.
#[derive(Clone)]
pub struct Memory(Arc<dyn Fn() -> Box<dyn MemoryCharge> + Send + Sync>);

impl Memory {
    /// `charge` makes a separate charge for each evaluation that holds more than a few kilobytes.
    pub fn new(charge: impl Fn() -> Box<dyn MemoryCharge> + Send + Sync + 'static) -> Self {
        Self(Arc::new(charge))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// The memory that all evaluations over one document hold together.
pub(crate) struct Held {
    /// The bytes of the values.
    bytes: usize,
    /// The bytes that are counted, or that need no counting.
    counted: usize,
    charge: Option<Box<dyn MemoryCharge>>,
}

impl Default for Held {
    fn default() -> Self {
        Self { bytes: 0, counted: FREE_BYTES, charge: None }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

impl Held {
    /// The bytes of the values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases memory until only this number of bytes is held.
    #[inline]
    pub fn keep(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// Counts further values, which are held from now on.
    #[inline]
    pub fn add(&mut self, bytes: usize, memory: Option<&Memory>) -> Result<(), Interruption> {
        self.fit(bytes, memory)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts further values that are dropped soon or are still incomplete. They are not added to the held values.
    #[inline]
    pub fn fit(&mut self, bytes: usize, memory: Option<&Memory>) -> Result<(), Interruption> {
        let all = self.bytes.saturating_add(bytes);
        if all <= self.counted { Ok(()) } else { self.count(all, memory) }
    }

    #[cold]
    fn count(&mut self, bytes: usize, memory: Option<&Memory>) -> Result<(), Interruption> {
        let Some(memory) = memory else {
            self.counted = usize::MAX;
            return Ok(());
        };
        match self.charge.get_or_insert_with(|| (memory.0)()).grow(bytes) {
            Some(counted) => {
                self.counted = counted;
                Ok(())
            }
            None => Err(shortage()),
        }
    }
}

fn shortage() -> Interruption {
    let message = "an expression needs more memory than is left for the queries of this database: make smaller values, \
                   try again when fewer queries run, or raise the memory budget";
    Interruption { code: ErrorCode::ExceededMemoryLimit, message: message.to_owned() }
}

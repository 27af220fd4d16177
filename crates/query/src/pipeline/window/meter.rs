//! Counts the documents that a computation reads, and its memory.

use super::super::error::PipelineError;
use super::super::record::Record;
use super::Caller;
use crate::expression::Expression;
use alluvium_document::Value;

type Result<T> = std::result::Result<T, PipelineError>;

/// The number of documents that are read between two checks of the caller.
const STEPS: u32 = 1024;

/// The memory is reported after it has grown by this many bytes.
const REPORTED_BYTES: usize = 16 << 10;

/// Reads documents, and reports the memory that is held.
pub(super) struct Meter<'c> {
    caller: &'c mut dyn Caller,
    pub held: usize,
    reported: usize,
    steps: u32,
}

impl<'c> Meter<'c> {
    pub fn new(caller: &'c mut dyn Caller, held: usize) -> Self {
        Self { caller, held, reported: 0, steps: 0 }
    }

    /// The document at a position.
    pub fn document(&mut self, at: usize) -> Result<&Record> {
        self.caller.document(at)
    }

    /// The value of an expression for a document; null if it is missing.
    pub fn value(&mut self, expression: &Expression, at: usize) -> Result<Value> {
        Ok(expression.evaluate(&mut self.document(at)?.scope())?.unwrap_or_default())
    }

    /// Must be called for each document that is read, except the document whose fields are computed.
    pub fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        self.caller.check()
    }

    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.held += bytes;
        if self.held < self.reported + REPORTED_BYTES {
            return Ok(());
        }
        self.reported = self.held;
        self.caller.hold(self.held)
    }

    pub fn shrink(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
        self.reported = self.reported.min(self.held);
    }
}

/// True for a value that functions ignore.
pub(super) fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Undefined)
}

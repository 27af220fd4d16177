//! `$setWindowFields`: fields computed from the documents around each document.

mod bounds;
mod change;
mod covariance;
mod evaluate;
mod fill;
mod meter;
mod parse;

use super::accumulator::Accumulator;
use super::error::{PipelineError, refuse};
use super::record::Record;
use crate::code::ErrorCode;
use crate::collation::{Collation, encode_by};
use crate::expression::Expression;
use crate::sort::Sort;
use alluvium_document::Value;
use alluvium_document::path::FieldPath;
pub use evaluate::Partition;
pub(super) use parse::set_window_fields;
pub use parse::window_function_names;

/// A `$setWindowFields` stage.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowFields {
    partition: Option<Expression>,
    sort: Sort,
    outputs: Vec<(FieldPath, Function)>,
    /// The collation that decides whether strings are in the same partition; `None` to compare their bytes.
    collation: Option<Collation>,
}

/// The function that computes a field.
#[derive(Debug, Clone, PartialEq)]
enum Function {
    /// An accumulator over the documents of a window.
    Accumulated(Accumulator, Window),
    /// `$rank`, or `$denseRank` if true.
    Rank {
        dense: bool,
    },
    DocumentNumber,
    /// `$shift`: the value of the document that follows after this many positions.
    Shift {
        output: Expression,
        by: i64,
        default: Value,
    },
    /// `$expMovingAvg`, with the weight of the latest value, as the bits of a double.
    MovingAverage {
        input: Expression,
        weight: u64,
    },
    /// `$linearFill`.
    LinearFill(Expression),
    /// `$locf`: the last value that is not null.
    LastValue(Expression),
    /// `$derivative`, or `$integral` if true. The unit of time in milliseconds is given if the order is by dates.
    Change {
        input: Expression,
        integral: bool,
        unit_ms: Option<i64>,
        window: Window,
    },
    /// `$covariancePop`, or `$covarianceSamp` if true.
    Covariance {
        both: Box<[Expression; 2]>,
        sample: bool,
        window: Window,
    },
}

/// The documents around a document. They include the document itself, unless the bounds exclude it.
#[derive(Debug, Clone, PartialEq)]
enum Window {
    /// A window by the number of documents before and after.
    Documents(Bound, Bound),
    /// A window by the distance of the documents' values in the order. The distance may have a unit of time.
    Range(Bound, Bound, Option<Box<str>>),
}

/// A bound of a window.
#[derive(Debug, Clone, PartialEq)]
enum Bound {
    Unbounded,
    Current,
    /// This distance; negative distances are before the document. An integer if it is a number of documents.
    At(Value),
}

impl Window {
    /// A window of all documents of the partition.
    fn all() -> Self {
        Self::Documents(Bound::Unbounded, Bound::Unbounded)
    }

    /// True if the windows of all documents start at the first document.
    fn starts_at_first(&self) -> bool {
        matches!(self, Self::Documents(Bound::Unbounded, _) | Self::Range(Bound::Unbounded, ..))
    }
}

impl WindowFields {
    /// The path whose values divide the documents into partitions, if the partitions are given by a path.
    pub(super) fn partition_path(&self) -> Option<&FieldPath> {
        self.partition.as_ref()?.as_path()
    }

    /// True if a field with this name, or a field inside of it, is computed.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.outputs.iter().any(|(path, _)| path.first() == name)
    }

    /// Appends the key by which documents are sorted: first by partition, then by the order within the partition.
    /// Returns the length of the partition's part.
    ///
    /// # Errors
    /// An expression does not accept a value, the partition is an array, or the document cannot be sorted.
    pub fn put_key(&self, record: &Record, out: &mut Vec<u8>) -> Result<usize, PipelineError> {
        let before = out.len();
        if let Some(partition) = &self.partition {
            let value = partition.evaluate(&mut record.scope())?.unwrap_or_default();
            if let Value::Array(_) = value {
                return refuse(ErrorCode::TypeMismatch, "the partitionBy of $setWindowFields cannot give an array");
            }
            encode_by(self.collation.as_ref(), &value, out);
        }
        let len = out.len() - before;
        record.put_sort_key(&self.sort, out)?;
        Ok(len)
    }
}

/// The caller of a computation over the documents of a partition. It holds the documents, and decides whether the
/// computation may continue.
pub trait Caller {
    /// The document at a position of the partition, which is less than the partition's length. Access is fast near the
    /// positions read last.
    ///
    /// # Errors
    /// The document cannot be read. [`PipelineError::Stopped`] if the caller already knows the reason.
    fn document(&mut self, at: usize) -> Result<&Record, PipelineError>;

    /// Fails if the computation must end.
    ///
    /// # Errors
    /// [`PipelineError::Stopped`].
    fn check(&mut self) -> Result<(), PipelineError>;

    /// Reports the bytes of memory that are currently held.
    ///
    /// # Errors
    /// The limit for memory is exceeded.
    fn hold(&mut self, bytes: usize) -> Result<(), PipelineError>;
}

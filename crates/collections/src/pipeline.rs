//! Pipelines over collections: planned, executed, explained.
//!
//! The leading stages of a pipeline that form a query (a filter, a sort, a limit) are executed as one query, so that
//! indexes are used. The other stages are executed over the documents of this query ([`alluvium_exec::pipeline`]). All
//! collections that a pipeline reads are read at one snapshot.

mod execution;
mod finder;
mod head;
mod host;
mod read_only;
mod statistics;
mod views;
mod write;

pub use alluvium_exec::pipeline::StageReport;
pub(crate) use execution::OtherDocuments;
pub use execution::{PipelineExplanation, PipelineRequest, PipelineRun};
pub use views::{change_view, create_view};

use crate::error::Result;
use alluvium_query::ErrorCode;
use alluvium_query::expression::ExpressionError;
use alluvium_query::pipeline::PipelineError;

fn refuse<T>(code: ErrorCode, message: impl Into<String>) -> Result<T> {
    Err(PipelineError::Refused(ExpressionError::new(code, message)).into())
}

#[cfg(test)]
mod tests;

//! Pipelines over collections: planned, executed, explained.
//!
//! The stages at the head of a pipeline that are a query (a filter, an order, a number of documents)
//! become one, so that indexes are used; the other stages are executed over its documents
//! ([`alluvium_exec::pipeline`]). All collections that a pipeline reads are read at one snapshot.

mod execution;
mod finder;
mod head;
mod host;
mod read_only;
mod statistics;
mod views;
mod write;

pub use alluvium_exec::pipeline::StageReport;
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

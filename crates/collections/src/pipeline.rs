//! Pipelines over collections: planned, executed, explained.
//!
//! The stages at the head of a pipeline that are a query (a filter, an order, a number of documents)
//! become one, so that indexes are used; the other stages are executed over its documents
//! ([`alluvium_exec::pipeline`]). All collections that a pipeline reads are read at one snapshot.

mod execution;
mod head;
mod host;
mod statistics;
mod write;

pub use alluvium_exec::pipeline::StageReport;
pub use execution::{PipelineExplanation, PipelineRequest, PipelineRun};

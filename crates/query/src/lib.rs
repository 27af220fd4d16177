//! Queries and updates of documents as pure functions: no storage, no clock, no I/O.
//!
//! - [`collation`]: comparison of strings by the rules of a language
//! - [`update`]: updates by operators, checked or as deltas
//! - [`expression`]: values computed from documents
//! - [`filter`]: conditions on documents
//! - [`fold`]: applying deltas to a document
//! - [`index`]: definitions of secondary indexes, and the entries of a document
//! - [`distinct`]: the distinct values of a field
//! - [`projection`]: selection of fields
//! - [`sort`]: sort keys, and selection of the first documents by them
//! - [`pipeline`]: stages of aggregation
//! - [`plan`]: the query planner
//! - [`validator`]: conditions that the documents of a collection must meet

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod code;
pub mod collation;
mod date;
pub mod distinct;
mod dollar;
pub mod expression;
mod fields;
pub mod filter;
pub mod fold;
pub mod index;
mod interrupt;
mod memory;
mod number;
mod pattern;
pub mod pipeline;
pub mod plan;
pub mod projection;
pub mod sort;
mod sorting;
mod suggest;
pub mod update;
pub mod validator;
mod work;

pub use code::ErrorCode;

//! What is asked of documents and done to them, as pure functions: no storage, no clock, no I/O.
//!
//! - [`update`]: updates by operators, checked or as deltas
//! - [`filter`]: which documents match
//! - [`fold`]: a document and the deltas written after it
//! - [`index`]: definitions of secondary indexes, and the entries that a document yields
//! - [`distinct`]: the distinct values of a field
//! - [`projection`]: which fields of a document
//! - [`sort`]: sort keys, and the first documents by them
//! - [`plan`]: how the documents that a query asks for are found

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod code;
pub mod distinct;
mod dollar;
pub mod filter;
pub mod fold;
pub mod index;
pub mod plan;
pub mod projection;
pub mod sort;
mod suggest;
pub mod update;

pub use code::ErrorCode;

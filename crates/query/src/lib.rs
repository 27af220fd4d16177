//! What is asked of documents and done to them, as pure functions: no storage, no clock, no I/O.
//!
//! - [`update`]: updates by operators, checked or as deltas
//! - [`filter`]: which documents match
//! - [`fold`]: a document and the deltas written after it
//! - [`index`]: definitions of secondary indexes, and the entries that a document yields
//! - [`plan`]: how the documents that a query asks for are found

#![deny(missing_docs)]

pub mod filter;
pub mod fold;
pub mod index;
pub mod plan;
pub mod update;

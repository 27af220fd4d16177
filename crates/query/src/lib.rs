//! What is asked of documents and done to them, as pure functions: no storage, no clock, no I/O.
//!
//! - [`update`]: updates by operators, checked or as deltas
//! - [`fold`]: a document and the deltas written after it

#![deny(missing_docs)]

pub mod fold;
pub mod update;

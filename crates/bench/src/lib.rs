//! The seeds' scenarios, as a library that the command line runs.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod comments;
pub mod iibench;
pub mod keys;
pub mod process;
pub mod scenarios;

//! The command `alluvium-bench`: generators of data, scenarios that are measured, and the demo.
//!
//! The program is [`main`]. Generators, scenarios and the harness of iibench are public for other programs: `bench-peers`
//! measures other databases with the same harness, and the tests of the command line load generated comments.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod app;
mod commands;
pub mod comments;
pub mod iibench;
pub mod keys;
pub mod scenarios;

pub use app::main;

//! The command `alluvium-bench`: data generators, benchmark scenarios, and the demo.
//!
//! [`main`] is the program. The generators, the scenarios and the harness of iibench are public
//! because other programs use them: `bench-peers` measures other databases with the same harness,
//! and the tests of the command line load generated comments.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod app;
mod commands;
pub mod comments;
pub mod iibench;
pub mod keys;
pub mod peer;
pub mod plan;
pub mod record;
mod report;
pub mod scenarios;
mod trials;

pub use app::main;

//! The `alluvium` command: parses arguments into settings, and runs one command of the library with
//! them.
//!
//! [`main`] is the program. Most other public modules are shared with `alluvium-bench` (crate `alluvium-workbench`):
//! arguments and exit codes, output and errors, signals, and statistics of the process. The fuzz targets are public,
//! too.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod advice;
pub mod allocator;
mod app;
mod commands;
mod config;
mod context;
mod endings;
pub mod exit;
pub mod files;
#[doc(hidden)]
pub mod fuzz;
pub mod logging;
mod mode;
mod notes;
mod operators;
pub mod output;
pub mod process;
mod profile;
mod progress;
mod relaxed;
pub mod report;
mod served;
mod session;
pub mod settings;
pub mod signals;
mod streams;
mod suggestions;
mod tally;
pub mod text;
mod variables;

pub use app::main;
pub use commands::load;

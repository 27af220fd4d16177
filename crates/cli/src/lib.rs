//! The `alluvium` command: arguments become settings, and settings run one command of the library.
//!
//! The program is [`main`]; the rest is its own. What fuzzers drive is public too.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod advice;
mod allocator;
mod app;
mod commands;
mod config;
mod exit;
mod files;
#[doc(hidden)]
pub mod fuzz;
mod logging;
mod notes;
mod operators;
mod output;
mod process;
mod progress;
mod relaxed;
mod session;
mod settings;
mod signals;
mod suggestions;
mod text;

pub use app::main;

//! Information about the program itself, for the commands.

use crate::config::Config;
use std::ffi::OsString;

/// The definition of all arguments, and the settings.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// Builds the definition of all arguments, which few commands need.
    pub definition: fn() -> clap::Command,
    pub config: &'a Config,
    /// Runs the command of another process, and returns its exit code.
    pub run_for_visitor: fn(Vec<OsString>) -> u8,
}

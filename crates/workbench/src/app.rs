//! The program: arguments, commands, exit codes.

use crate::commands::Command;
use alluvium_cli::logging::{self, Format, Level};
use alluvium_cli::report::Program;
use alluvium_cli::signals;
use alluvium_env::Env;
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// Generates data for Alluvium, measures it, and shows what it does.
#[derive(Debug, Parser)]
#[command(
    name = "alluvium-bench",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
The figures depend on the arguments alone: settings of `alluvium` in the environment or a file are not read. The exit \
codes are those of `alluvium`.

`alluvium-bench help <command>` shows a command's options and an example."
)]
struct Cli {
    /// Log events of the database to standard error: off, error, warn (the default), info, debug
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    log: Option<Level>,
    /// End with the process that has started this one
    #[arg(long, hide = true)]
    end_with_parent: bool,
    #[command(subcommand)]
    command: Command,
}

/// Parses the arguments, runs the command, reports errors, and returns the exit code.
pub fn main() -> ExitCode {
    signals::survive_large_files();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let program = Program::new("alluvium-bench", &arguments);
    match Cli::try_parse_from(arguments) {
        Err(error) => program.end_unparsed(&error),
        Ok(cli) => {
            if cli.end_with_parent {
                end_with_parent();
            }
            logging::start(&Env::os(), cli.log.unwrap_or(Level::Warn), Format::Text);
            program.end(cli.command.run())
        }
    }
}

/// Makes this process end when its parent ends, even by `kill -9`, so that a trial never outlives its run.
#[cfg(target_os = "linux")]
fn end_with_parent() {
    // If the signal cannot be set, the process ends when its work is done.
    let _result = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Does nothing: this system has no such signal.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() {}

#[cfg(test)]
mod tests;

//! From the command line to the exit code.

use crate::commands::Command;
use crate::exit::{self, Failure};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// An embeddable, log-structured document database, from the command line.
#[derive(Debug, Parser)]
#[command(
    name = "alluvium",
    version,
    propagate_version = true,
    disable_help_subcommand = false,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = exit::HELP,
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Parses the arguments, runs the command, says what went wrong, and gives the exit code.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no error here either: `alluvium help | head`.
            let _nobody_reads = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    match cli.command.run() {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => {
            complain(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Writes the failure to standard error, if there is anything to say.
fn complain(failure: &Failure) {
    let text = failure.to_string();
    if !text.is_empty() {
        // Nobody is left to tell if standard error is closed.
        let _closed = writeln!(std::io::stderr(), "alluvium: {text}");
    }
}

#[cfg(test)]
mod tests;

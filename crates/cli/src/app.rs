//! From the command line to the exit code.

use crate::commands::Command;
use crate::config::{self, Config, Variables};
use crate::exit::{self, Failure, Outcome};
use crate::logging::{self, Level};
use crate::suggestions;
use alluvium_env::Env;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
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
pub(crate) struct Cli {
    /// Read settings from this file; `alluvium config show --help` says more
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    config: Option<PathBuf>,
    /// Tell on standard error what the database does
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    #[arg(help = "Tell on standard error what the database does: off, error, warn (the default), info, debug")]
    log: Option<Level>,
    #[command(subcommand)]
    command: Command,
}

/// The definition of all arguments.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// The program: parses the arguments, runs the command, says what went wrong, and gives the exit code (`docs/ERRORS.md`).
pub fn main() -> ExitCode {
    let env = Env::os();
    let json = wants_json(std::env::args_os());
    let (cli, config) = match resolve(&env, &config::variable, std::env::args_os().collect()) {
        Ok(Ok(resolved)) => resolved,
        Ok(Err(failure)) => return failed(&failure, json),
        Err(error) => {
            if let Some(failure) = suggestions::of(&error) {
                return failed(&failure, json);
            }
            if json && error.use_stderr() {
                return failed(&refused(&error), json);
            }
            // A closed pipe is no error here either: `alluvium help | head`.
            let _nobody_reads = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    logging::start(&env, cli.log.unwrap_or(Level::Warn));
    match cli.command.run(&config) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => failed(&failure, json),
    }
}

/// True if the command was asked to print JSON.
pub(crate) fn wants_json(arguments: impl IntoIterator<Item = impl PartialEq<str>>) -> bool {
    arguments.into_iter().take_while(|argument| *argument != *"--").any(|argument| argument == *"--json")
}

/// Arguments that the parser refuses: why, without how they are used.
fn refused(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|help| text.find(help)).min();
    Failure::Usage(text[..end.unwrap_or(text.len())].trim_end().to_owned())
}

/// Writes the failure to standard error as a line of JSON, with MongoDB's code where it has one, and the line of a script
/// where it is of one.
pub(crate) fn complain_as_json(failure: &Failure, line: Option<u64>) {
    let text = failure.to_string();
    if text.is_empty() {
        return;
    }
    let mut error = serde_json::json!({ "error": text, "exit_code": failure.exit_code() });
    if let Some((code, name)) = failure.code() {
        error["code"] = code.into();
        error["code_name"] = name.into();
    }
    if let Some(line) = line {
        error["line"] = line.into();
    }
    // Nobody is left to tell if standard error is closed.
    let _closed = writeln!(std::io::stderr(), "{error}");
}

/// The arguments and the settings behind them. First the arguments alone, which may name the file; then with the
/// settings for defaults.
pub(crate) fn resolve(
    env: &Env,
    variables: Variables<'_>,
    arguments: Vec<OsString>,
) -> Result<Outcome<(Cli, Config)>, clap::Error> {
    let first = Cli::try_parse_from(&arguments)?;
    let config = match Config::read(env, variables, first.config.as_deref()) {
        Ok(config) => config,
        Err(failure) => return Ok(Err(failure)),
    };
    let matches = config.defaults_of(definition()).try_get_matches_from(arguments)?;
    Ok(Ok((Cli::from_arg_matches(&matches)?, config)))
}

fn failed(failure: &Failure, json: bool) -> ExitCode {
    if json {
        complain_as_json(failure, None)
    } else {
        complain(failure)
    }
    ExitCode::from(failure.exit_code())
}

/// Writes the failure to standard error, if there is anything to say.
pub(crate) fn complain(failure: &Failure) {
    let text = failure.to_string();
    if !text.is_empty() {
        // Nobody is left to tell if standard error is closed.
        let _closed = writeln!(std::io::stderr(), "alluvium: {text}");
    }
}

#[cfg(test)]
mod tests;

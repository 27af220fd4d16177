//! The path from the command line to the exit code.

use crate::commands::{Command, mongod, shell};
use crate::config::Config;
use crate::context::Context;
use crate::exit::{self, Failure, Outcome};
use crate::logging::{self, Format, Level};
use crate::output::terminal::{self, Color, Wishes};
use crate::report::Program;
use crate::served::target::Target;
use crate::served::{host, visitor};
use crate::signals;
use crate::suggestions;
use crate::variables::{Variables, variable};
use alluvium_env::Env;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
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
    /// Read settings from this file; see `alluvium config show --help`
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    config: Option<PathBuf>,
    /// Log to standard error what the database does
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    #[arg(help = "Log to standard error what the database does: off, error, warn (the default), info, debug")]
    log: Option<Level>,
    /// Write each line of the log as text or as JSON
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    #[arg(
        help = "Write the lines of the log as text (the default) or json, with the time, the level and what it is about"
    )]
    log_format: Option<Format>,
    /// Print in colours: auto, always, never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    #[arg(
        help = "Print in colours: always, never, or auto (the default), which means on a terminal unless the variable NO_COLOR is set"
    )]
    color: Option<Color>,
    /// Print long output without a pager
    #[arg(long, global = true, help_heading = "Global options")]
    #[arg(
        help = "Print output that is longer than the screen without a pager, which is the program in the variable PAGER, or less"
    )]
    no_pager: bool,
    #[command(subcommand)]
    command: Command,
}

/// The definition of all arguments.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// This program's name.
const NAME: &str = "alluvium";

/// Parses the arguments, runs the command, reports errors, and returns the exit code
/// (`docs/ERRORS.md`).
pub fn main() -> ExitCode {
    signals::survive_large_files();
    let env = Env::os();
    let arguments = mongod::by_name(std::env::args_os().collect());
    let arguments = match mongod::expand(arguments.clone(), |path| mongod::read(&env, path)) {
        Ok(arguments) => arguments,
        Err(failure) => return ExitCode::from(Program::new(NAME, &arguments).code(Err(failure))),
    };
    ExitCode::from(execute(&env, arguments.clone(), |resolved| {
        let Resolved { cli, config, target } = resolved;
        logging::start(&env, cli.log.unwrap_or(Level::Warn), cli.log_format.unwrap_or(Format::Text));
        terminal::set(cli.wishes());
        if let Some(code) = visitor::visit(&target, &arguments) {
            return Err(Failure::Reported(code));
        }
        cli.command.run(context(&config)).map_err(|failure| visitor::explain(&target, failure))
    }))
}

/// Like [`main`], for a command of another process on the database that this process has open.
fn run_for_visitor(arguments: Vec<OsString>) -> u8 {
    if let Some((collection, words)) = host::of_shell(&arguments) {
        return run_line(collection.as_deref(), &words);
    }
    execute(&Env::os(), arguments, |Resolved { cli, config, target }| {
        host::check(&target)?;
        terminal::share(Some(cli.wishes()));
        let outcome = cli.command.run(context(&config));
        terminal::share(None);
        outcome
    })
}

/// Runs a line of another process's shell.
fn run_line(collection: Option<&str>, words: &[String]) -> u8 {
    let given: Vec<OsString> = words.iter().map(OsString::from).collect();
    terminal::share(Some(Wishes::default()));
    let outcome = Config::read(&Env::os(), &variable, None)
        .and_then(|config| shell::run_for_visitor(context(&config), collection, words));
    terminal::share(None);
    Program::new(NAME, &given).code(outcome)
}

/// Parses the arguments, runs `step` with them, reports errors, and returns the exit code.
fn execute(env: &Env, arguments: Vec<OsString>, step: impl FnOnce(Resolved) -> Outcome) -> u8 {
    let program = Program::new(NAME, &arguments);
    match resolve(env, &variable, arguments) {
        Err(error) => match suggestions::of(&error) {
            Some(failure) => program.code(Err(failure)),
            None => program.code_unparsed(&error),
        },
        Ok(Err(failure)) => program.code(Err(failure)),
        Ok(Ok(resolved)) => program.code(step(resolved)),
    }
}

fn context(config: &Config) -> Context<'_> {
    Context { definition, config, run_for_visitor }
}

/// Parsed arguments and settings.
pub(crate) struct Resolved {
    cli: Cli,
    config: Config,
    target: Target,
}

impl Cli {
    fn wishes(&self) -> Wishes {
        Wishes { color: self.color.unwrap_or_default(), no_pager: self.no_pager }
    }
}

/// Parses the arguments and the settings. The arguments are parsed twice: first without the settings, because the
/// arguments may name the settings file, and then with the settings as defaults.
pub(crate) fn resolve(
    env: &Env,
    variables: Variables<'_>,
    arguments: Vec<OsString>,
) -> Result<Outcome<Resolved>, clap::Error> {
    let first = Cli::try_parse_from(&arguments)?;
    let config = match Config::read(env, variables, first.config.as_deref()) {
        Ok(config) => config,
        Err(failure) => return Ok(Err(failure)),
    };
    let matches = config.defaults_of(definition()).try_get_matches_from(arguments)?;
    let target = Target::of(&matches);
    Ok(Ok(Resolved { cli: Cli::from_arg_matches(&matches)?, config, target }))
}

#[cfg(test)]
mod tests;

//! The commands of the shell: the commands of the command line, without the arguments that the shell already knows.

use crate::commands::Command;
use crate::context::Context;
use crate::exit::{Failure, Outcome};
use crate::served::target::Target;
use crate::suggestions;
use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use std::path::Path;

/// Commands that are not available in the shell.
const NOT_HERE: &[&str] = &["build", "shell"];
/// The ids of the arguments for the database and the collection.
const DATABASE: Positional = Positional { id: "path", value: "DB" };
const COLLECTION: Positional = Positional { id: "name", value: "COLLECTION" };
/// The argument that is read from standard input if it is not given.
const FROM_STDIN: Positional = Positional { id: "json", value: "JSON" };
/// Options for opening a database.
const OF_OPENING: &[&str] = &["memory", "disk_reserve", "partitions", "wait", "read_only"];

/// A positional argument.
#[derive(Clone, Copy)]
struct Positional {
    id: &'static str,
    /// The name of its value in help.
    value: &'static str,
}

/// The help of the shell's own commands.
pub(super) const HELP: &str = "\
Words are split as in a Unix shell; JSON needs no quotes, and may continue over several lines.

In the shell:
  use [COLLECTION]  Leave out the collection in what follows; without a name, no longer
  begin             Begin a transaction: what follows is written together, or not at all
  commit, abort     End it
  help [COMMAND]    Show this, or a command's options and an example
  exit              Leave (also ctrl-D); ctrl-C stops a command, twice the shell";

/// The commands for a database, and for the collection in use, if there is one.
pub(super) fn definition(context: Context<'_>, database: &Path, collection: Option<&str>) -> clap::Command {
    let all = context.config.defaults_of((context.definition)());
    let commands = all.get_subcommands().filter_map(|command| {
        let here = !NOT_HERE.contains(&command.get_name());
        here.then(|| adapt(command.clone(), database, collection)).flatten()
    });
    // The name is empty, so that the names of commands have no prefix.
    clap::Command::new("")
        .no_binary_name(true)
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .help_template("{subcommands}\n\n{after-help}")
        .after_help(HELP)
        .subcommands(commands.collect::<Vec<_>>())
}

/// A command without the arguments that the shell knows; `None` if it does not work on an open
/// database.
fn adapt(mut command: clap::Command, database: &Path, collection: Option<&str>) -> Option<clap::Command> {
    let below: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    if !below.is_empty() {
        let adapted = below.into_iter().filter_map(|sub| adapt(sub, database, collection));
        let adapted: Vec<_> = adapted.collect();
        let works = !adapted.is_empty();
        for sub in adapted {
            let name = sub.get_name().to_owned();
            command = command.mut_subcommand(name, |_| sub);
        }
        return works.then_some(command);
    }
    if !has(&command, DATABASE) {
        return None;
    }
    let known = |arg: clap::Arg, long: &'static str, value: String| {
        arg.long(long).required(false).hide(true).default_value(value)
    };
    command = command.mut_arg(DATABASE.id, |arg| known(arg, "database", database.display().to_string()));
    let in_use = collection.filter(|_| has(&command, COLLECTION));
    if let Some(name) = in_use {
        command = command.mut_arg(COLLECTION.id, |arg| {
            known(arg, "collection", name.to_owned()).hide(false).help("A collection other than the one in use")
        });
    }
    let ids: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    for id in ids.iter().filter(|id| OF_OPENING.contains(&id.as_str())) {
        command = command.mut_arg(id, |arg| arg.hide(true).default_value(None));
    }
    if has(&command, FROM_STDIN) {
        // Standard input is read by the shell itself.
        command = command.mut_arg(FROM_STDIN.id, |arg| arg.required(true).help("The document as JSON"));
    }
    // clap's usage has several lines only if it was written by hand.
    let usage = command.render_usage().to_string();
    if let (Some(usage), true) = (usage.strip_prefix("Usage: "), usage.contains('\n')) {
        let usage = usage.replace("alluvium ", "").replace("<DB> ", "");
        command = command.override_usage(if collection.is_some() { usage.replace("<COLLECTION> ", "") } else { usage });
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    Some(command.after_help(examples(&help, in_use.is_some())))
}

/// Converts examples to lines of the shell: without the program and the database, and without the collection if one is
/// in use. Examples with pipes are left out.
fn examples(help: &str, in_use: bool) -> String {
    let piped = |line: &str| line.contains("alluvium ") && [" < ", " | ", " > "].iter().any(|pipe| line.contains(pipe));
    let lines: Vec<&str> = help.split('\n').filter(|line| !piped(line)).collect();
    let help = lines.join("\n").replace("alluvium ", "");
    let mut parts = help.split("my.db ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(char::is_whitespace).unwrap_or(part.len());
        match in_use && !part.starts_with('-') {
            true if part[end..].starts_with(' ') => shown += &part[end + 1..],
            true => shown = shown.trim_end().to_owned() + &part[end..],
            false => shown += part,
        }
    }
    shown
}

fn has(command: &clap::Command, wanted: Positional) -> bool {
    let named = |arg: &&clap::Arg| {
        arg.is_positional()
            && arg.get_id() == wanted.id
            && arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == wanted.value))
    };
    command.get_arguments().any(|arg| named(&arg))
}

/// Parses a command. A request for help prints the help, and returns no command. The definition keeps the prepared
/// state of each subcommand, so that later lines need not prepare it again.
pub(super) fn parse(definition: &mut clap::Command, words: &[String]) -> Outcome<Option<Command>> {
    Ok(parse_for(definition, words)?.map(|(command, _)| command))
}

/// Like [`parse`], and also returns the target of the command.
pub(super) fn parse_for(definition: &mut clap::Command, words: &[String]) -> Outcome<Option<(Command, Target)>> {
    let parsed = definition.try_get_matches_from_mut(words);
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => {
            // A closed pipe is detected at the next line.
            let _closed = error.print();
            return Ok(None);
        }
        Err(error) => return Err(suggestions::of(&error).map_or_else(|| usage(&error), without_database)),
    };
    refuse_options_of_opening(&matches)?;
    let command = Command::from_arg_matches(&matches).map_err(|error| usage(&error))?;
    Ok(Some((command, Target::of(&matches))))
}

/// Adapts advice for the command line to the shell.
fn without_database(failure: Failure) -> Failure {
    Failure::Usage(failure.to_string().replace(" DB ", " "))
}

fn usage(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Failure::Usage(text.replace("'--help'", "`help COMMAND`").replace("Usage:  ", "Usage: ").trim_end().to_owned())
}

fn refuse_options_of_opening(matches: &ArgMatches) -> Outcome {
    if let Some((_, below)) = matches.subcommand() {
        refuse_options_of_opening(below)?;
    }
    let given = |id: &&&str| {
        matches.try_contains_id(id).unwrap_or(false) && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    match OF_OPENING.iter().chain(&[DATABASE.id]).find(given) {
        None => Ok(()),
        Some(id) => {
            let option = if *id == DATABASE.id { "database".to_owned() } else { id.replace('_', "-") };
            let what = format!("--{option} is for opening a database, and the shell's is already open: leave it out");
            Err(Failure::Usage(what))
        }
    }
}

#[cfg(test)]
mod tests;

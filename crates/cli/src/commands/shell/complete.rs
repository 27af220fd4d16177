//! Completion and hints: commands, options, collections, fields, operators, files.

use super::words::{self, Split};
use crate::output;
use alluvium::Database;
use rustyline::Context;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hint;
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use std::borrow::Cow;

/// Words of the shell itself.
const OWN: &[&str] = &["exit", "help", "use"];
/// The operators of updates and filters.
const OPERATORS: &[&str] = &[
    "$addToSet",
    "$all",
    "$and",
    "$bit",
    "$bitsAllClear",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$bitsAnySet",
    "$currentDate",
    "$elemMatch",
    "$eq",
    "$exists",
    "$gt",
    "$gte",
    "$in",
    "$inc",
    "$lt",
    "$lte",
    "$max",
    "$min",
    "$mod",
    "$mul",
    "$ne",
    "$nin",
    "$nor",
    "$not",
    "$or",
    "$pop",
    "$pull",
    "$pullAll",
    "$push",
    "$regex",
    "$rename",
    "$set",
    "$setOnInsert",
    "$size",
    "$type",
    "$unset",
];
/// Options that take fields.
const OF_FIELDS: &[&str] = &["--fields", "--id-field"];

/// Options that take an index.
const OF_INDEXES: &[&str] = &["--hint"];

/// What the editor asks while a line is typed.
#[derive(rustyline::Helper)]
pub(super) struct Helper {
    definition: clap::Command,
    database: Database,
    collection: Option<String>,
    files: FilenameCompleter,
    history: HistoryHinter,
}

impl Helper {
    pub(super) fn new(mut definition: clap::Command, database: Database, collection: Option<String>) -> Self {
        definition.build();
        let (files, history) = (FilenameCompleter::new(), HistoryHinter::new());
        Self { definition, database, collection, files, history }
    }

    /// What may stand in place of the text from a byte on; nothing if it may be a file.
    fn candidates(&self, line: &str) -> Option<(usize, Vec<String>)> {
        // An open bracket or quote is completed within.
        let (before, begins) = match words::split(line) {
            Split::Open(words, at) => (words, at),
            Split::Whole(mut words) => match line.ends_with(char::is_whitespace) || line.is_empty() {
                true => (words, line.len()),
                false => {
                    let last = words.pop().unwrap_or_default();
                    (words, line.len() - last.len().min(line.len()))
                }
            },
        };
        let partial = line.get(begins..).unwrap_or_default();
        let Some((command, arguments)) = self.command(&before) else {
            let names = self.definition.get_subcommands().map(|sub| sub.get_name().to_owned());
            return Some((begins, names.chain(OWN.iter().map(|&own| own.to_owned())).collect()));
        };
        if partial.starts_with(['{', '[']) {
            let from = partial.rfind(['"', '{', ',', ' ']).map_or(0, |at| at + 1);
            let operators = OPERATORS.iter().map(|&operator| operator.to_owned());
            return Some((begins + from, self.fields(&arguments).into_iter().chain(operators).collect()));
        }
        if partial.starts_with('-') {
            let shown = command?.get_arguments().filter(|arg| !arg.is_hide_set());
            return Some((begins, shown.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()));
        }
        if before.last().is_some_and(|last| OF_FIELDS.contains(&last.as_str())) {
            let from = partial.rfind(',').map_or(0, |at| at + 1);
            return Some((begins + from, self.fields(&arguments)));
        }
        if before.last().is_some_and(|last| OF_INDEXES.contains(&last.as_str())) {
            return Some((begins, self.indexes(&arguments)));
        }
        let Some(command) = command else {
            // The shell's own.
            return Some((begins, if before[0] == "help" { self.names() } else { self.collections() }));
        };
        if command.has_subcommands() {
            return Some((begins, command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect()));
        }
        // With a collection in use, its argument is an option.
        let last = command.get_positionals().last().filter(|arg| arg.get_id() == "indexes");
        match command.get_positionals().nth(arguments.len()).or(last)?.get_id().as_str() {
            "name" => Some((begins, self.collections())),
            "indexes" => Some((begins, self.indexes(&arguments))),
            "field" => Some((begins, self.fields(&arguments))),
            _ => None,
        }
    }

    /// The command that a line begins with, and the words behind it; `None` for a command is one of the shell itself.
    fn command(&self, words: &[String]) -> Option<(Option<&clap::Command>, Vec<String>)> {
        let (first, mut rest) = words.split_first()?;
        let mut command = self.definition.find_subcommand(first);
        while let Some((next, behind)) = rest.split_first()
            && let Some(below) = command.and_then(|command| command.find_subcommand(next))
        {
            (command, rest) = (Some(below), behind);
        }
        (command.is_some() || OWN.contains(&first.as_str())).then(|| (command, rest.to_vec()))
    }

    fn names(&self) -> Vec<String> {
        self.definition.get_subcommands().map(|sub| sub.get_name().to_owned()).collect()
    }

    /// Their full names, and those of `main` without it.
    fn collections(&self) -> Vec<String> {
        let there = self.database.collections();
        let short = |info: &alluvium::CollectionInfo| match info.logical == alluvium::DEFAULT_LOGICAL {
            true => info.name.clone(),
            false => info.full_name(),
        };
        there.iter().map(short).collect()
    }

    /// The fields of the collection that the line is about.
    fn fields(&self, arguments: &[String]) -> Vec<String> {
        let name = self.collection.as_ref().or(arguments.first());
        let names = name.map(|name| self.database.collection(name).field_names());
        // A collection that does not exist has none.
        names.and_then(Result::ok).unwrap_or_default()
    }
}

impl Helper {
    /// The indexes of the collection that the line is about.
    fn indexes(&self, arguments: &[String]) -> Vec<String> {
        let name = self.collection.as_ref().or(arguments.first());
        let indexes = name.map(|name| self.database.collection(name).indexes());
        let indexes = indexes.and_then(Result::ok).unwrap_or_default();
        indexes.into_iter().map(|index| index.name).collect()
    }
}

impl Completer for Helper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let line = line.get(..pos).unwrap_or(line);
        let Some((from, candidates)) = self.candidates(line) else { return self.files.complete_path(line, pos) };
        let partial = line.get(from..).unwrap_or_default();
        let mut fitting: Vec<String> = candidates.into_iter().filter(|name| name.starts_with(partial)).collect();
        fitting.sort();
        let pair = |name: String| Pair { display: name.clone(), replacement: name };
        Ok((from, fitting.into_iter().map(pair).collect()))
    }
}

/// What stands behind the cursor without having been typed.
pub(super) struct Suggestion {
    text: String,
    /// It can be taken over; else it only tells.
    can_be_taken: bool,
}

impl Hint for Suggestion {
    fn display(&self) -> &str {
        &self.text
    }

    fn completion(&self) -> Option<&str> {
        self.can_be_taken.then_some(&self.text)
    }
}

impl Highlighter for Helper {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if output::has_colours() { Cow::Owned(format!("\x1b[2m{hint}\x1b[0m")) } else { Cow::Borrowed(hint) }
    }
}

impl Hinter for Helper {
    type Hint = Suggestion;

    /// The rest of an earlier line; behind a command alone, what it takes.
    fn hint(&self, line: &str, pos: usize, context: &Context<'_>) -> Option<Suggestion> {
        if pos < line.len() {
            return None;
        }
        let alone = line.strip_suffix(' ').and_then(|name| self.definition.find_subcommand(name));
        match alone {
            Some(command) => {
                let takes: Vec<String> = command.get_positionals().map(ToString::to_string).collect();
                (!takes.is_empty()).then(|| Suggestion { text: takes.join(" "), can_be_taken: false })
            }
            None => {
                let earlier = self.history.hint(line, pos, context)?;
                Some(Suggestion { text: earlier, can_be_taken: true })
            }
        }
    }
}

impl Validator for Helper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match words::split(context.input()) {
            Split::Open(..) => ValidationResult::Incomplete,
            Split::Whole(_) => ValidationResult::Valid(None),
        })
    }
}

#[cfg(test)]
mod tests;

//! Completion and hints: commands, options, collections, fields, operators, files.

use super::words::{self, Split};
use crate::output::terminal;
use crate::{notes, operators, text};
use alluvium::Database;
use rustyline::Context;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hint;
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::validate::Validator;
use std::borrow::Cow;

/// The shell's own words, which are no commands of the program.
const OWN: &[&str] = &["exit", "help", "use"];
/// The ids of arguments whose values are collections, fields and indexes.
const COLLECTIONS: &[&str] = &["name", "collection"];
const FIELDS: &[&str] = &["fields", "field", "id_field", "by"];
const INDEXES: &[&str] = &["indexes", "hint"];

/// Completion, hints and colours for the line editor.
#[derive(rustyline::Helper)]
pub(super) struct Helper {
    definition: clap::Command,
    /// `None` if another process serves the database: its names are then not completed.
    database: Option<Database>,
    collection: Option<String>,
    files: FilenameCompleter,
    history: HistoryHinter,
    /// The earlier lines of the command.
    before: String,
}

impl Helper {
    pub(super) fn new(mut definition: clap::Command, database: Option<Database>, collection: Option<String>) -> Self {
        definition.build();
        let (files, history) = (FilenameCompleter::new(), HistoryHinter::new());
        Self { definition, database, collection, files, history, before: String::new() }
    }

    /// True if the helper completes commands for this collection in use.
    pub(super) fn is_for(&self, collection: Option<&str>) -> bool {
        self.collection.as_deref() == collection
    }

    /// Marks the next line as a continuation of a command.
    pub(super) fn continues(&mut self, before: &str) {
        before.clone_into(&mut self.before);
    }

    /// The offset of the text that a completion at `pos` would replace.
    pub(super) fn replaces_from(&self, line: &str, pos: usize) -> usize {
        let history = rustyline::history::MemHistory::new();
        let context = Context::new(&history);
        let _hint = self.hint(line, pos, &context);
        self.complete(line, pos, &context).map_or(pos, |(from, _)| from)
    }

    /// The candidates for the text that begins at the returned offset; `None` if the text may be the name of a file.
    fn candidates(&self, line: &str) -> Option<(usize, Vec<String>)> {
        // Completion also works inside an open bracket or quote.
        let (before, begins) = match words::split(line) {
            Split::Open(words, at) => (words, at),
            Split::Whole(words, _) if line.ends_with(char::is_whitespace) || line.is_empty() => (words, line.len()),
            Split::Whole(mut words, last) => {
                words.pop();
                (words, last)
            }
        };
        let partial = line.get(begins..).unwrap_or_default();
        let Some((command, arguments)) = self.command(&before) else {
            let names = self.definition.get_subcommands().map(|sub| sub.get_name().to_owned());
            return Some((begins, names.chain(OWN.iter().map(|&own| own.to_owned())).collect()));
        };
        let typed = Typed::of(command, &arguments);
        if partial.trim_start_matches(['\'', '"']).starts_with(['{', '[']) {
            let from = partial.rfind(['"', '\'', '{', '[', ',', ':', ' ', '\n', '.']).map_or(0, |at| at + 1);
            let operators = operators_of(command.map(clap::Command::get_name)).map(str::to_owned);
            let mut names = self.fields(&typed);
            if command.is_some_and(|command| command.get_name() == "aggregate") {
                // Expressions refer to fields as "$name".
                names.extend(names.clone().iter().map(|name| format!("${name}")));
            }
            return Some((begins + from, names.into_iter().chain(operators).collect()));
        }
        let Some(command) = command else {
            // A word of the shell itself.
            return Some((begins, if before[0] == "help" { self.names() } else { self.collections() }));
        };
        if let Some(option) = typed.wants {
            return self.values(option, begins, partial, &typed);
        }
        if partial.starts_with('-') && !typed.options_ended {
            // `--option=value`
            if let Some((name, value)) = partial.split_once('=') {
                let option = option_of(command, name)?;
                return self.values(option, begins + name.len() + 1, value, &typed);
            }
            let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
            return Some((begins, shown.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()));
        }
        if command.has_subcommands() {
            return Some((begins, command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect()));
        }
        // The last positional argument may be repeated.
        let last = command.get_positionals().last().filter(|arg| INDEXES.contains(&arg.get_id().as_str()));
        let argument = command.get_positionals().nth(typed.positionals.len()).or(last)?;
        self.values(argument, begins, partial, &typed)
    }

    /// The candidates for an argument. `partial` is its text so far, which begins at byte `begins`.
    fn values(
        &self,
        argument: &clap::Arg,
        begins: usize,
        partial: &str,
        typed: &Typed<'_>,
    ) -> Option<(usize, Vec<String>)> {
        let id = argument.get_id().as_str();
        let possible = argument.get_possible_values();
        match id {
            _ if !possible.is_empty() => {
                Some((begins, possible.iter().map(|value| value.get_name().to_owned()).collect()))
            }
            _ if COLLECTIONS.contains(&id) => Some((begins, self.collections())),
            _ if INDEXES.contains(&id) => Some((begins, self.indexes(typed))),
            // `a.b,c.d`
            _ if FIELDS.contains(&id) => {
                let from = partial.rfind([',', '.']).map_or(0, |at| at + 1);
                Some((begins + from, self.fields(typed)))
            }
            _ => None,
        }
    }

    /// The command at the start of a line, and the words after it. The command is `None` for a word
    /// of the shell itself.
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

    /// The full names of all collections, and the short names of the collections in `main`.
    fn collections(&self) -> Vec<String> {
        let there = self.database.as_ref().map(Database::collections).unwrap_or_default();
        let short = |info: &alluvium::CollectionInfo| match info.database == alluvium::DEFAULT_LOGICAL {
            true => info.name.clone(),
            false => info.full_name(),
        };
        there.iter().map(short).collect()
    }

    /// The collection that the line refers to.
    fn about<'a>(&'a self, typed: &'a Typed<'_>) -> Option<&'a String> {
        typed.collection.as_ref().or(self.collection.as_ref()).or(typed.positionals.first())
    }

    /// The fields of the collection that the line refers to.
    fn fields(&self, typed: &Typed<'_>) -> Vec<String> {
        let name = self.about(typed);
        // A collection that does not exist has no fields.
        let collection = name.and_then(|name| Some(self.database.as_ref()?.collection(name)));
        collection.map(|collection| notes::names(&collection)).unwrap_or_default()
    }

    /// The indexes of the collection that the line refers to.
    fn indexes(&self, typed: &Typed<'_>) -> Vec<String> {
        let name = self.about(typed);
        let collection = name.and_then(|name| Some(self.database.as_ref()?.collection(name)));
        let indexes = collection.and_then(|collection| collection.indexes().ok()).unwrap_or_default();
        indexes.into_iter().map(|index| index.name).collect()
    }
}

/// The operators that the JSON of a command may have.
fn operators_of(command: Option<&str>) -> impl Iterator<Item = &'static str> {
    let lists: &[&[&str]] = match command {
        None | Some("update") => &[operators::FILTER, operators::UPDATE, operators::MODIFIERS],
        Some(_) => &[operators::FILTER],
    };
    let of_pipelines = (command == Some("aggregate")).then(|| operators::stages().chain(operators::expressions()));
    lists.iter().copied().flatten().copied().chain(of_pipelines.into_iter().flatten())
}

/// The words after a command, sorted into options and positionals.
#[derive(Default)]
struct Typed<'a> {
    positionals: Vec<String>,
    /// The collection, if it was given as an option.
    collection: Option<String>,
    /// The option at the end of the line whose value is missing.
    wants: Option<&'a clap::Arg>,
    /// True after the argument `--`.
    options_ended: bool,
}

impl<'a> Typed<'a> {
    fn of(command: Option<&'a clap::Command>, words: &[String]) -> Self {
        let mut typed = Self::default();
        for word in words {
            if let Some(option) = typed.wants.take() {
                typed.note(option, word);
            } else if typed.options_ended || !word.starts_with('-') || word.parse::<f64>().is_ok() {
                typed.positionals.push(word.clone());
            } else if word == "--" {
                typed.options_ended = true;
            } else if let Some((name, value)) = word.split_once('=') {
                if let Some(option) = command.and_then(|command| option_of(command, name)) {
                    typed.note(option, value);
                }
            } else {
                let option = command.and_then(|command| option_of(command, word));
                typed.wants = option.filter(|option| option.get_action().takes_values());
            }
        }
        typed
    }

    fn note(&mut self, option: &clap::Arg, value: &str) {
        if COLLECTIONS.contains(&option.get_id().as_str()) {
            self.collection = Some(value.to_owned());
        }
    }
}

/// The option of a command that is written like this: `--limit`, `-n`.
fn option_of<'a>(command: &'a clap::Command, word: &str) -> Option<&'a clap::Arg> {
    let mut arguments = command.get_arguments();
    match word.strip_prefix("--") {
        Some(long) => arguments.find(|argument| argument.get_long() == Some(long)),
        None => arguments.find(|argument| argument.get_short().is_some_and(|short| word == format!("-{short}"))),
    }
}

impl Completer for Helper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..pos).unwrap_or(line);
        let whole = self.before.clone() + typed;
        let line = whole.as_str();
        let found = self.candidates(line).filter(|(from, _)| *from >= self.before.len());
        let Some((from, candidates)) = found else { return self.files.complete_path(typed, pos) };
        let typed = line.get(from..).unwrap_or_default();
        let within_json = matches!(words::split(line.get(..from).unwrap_or_default()), Split::Open(..));
        // A name may be quoted; a name with blanks must be.
        let quote = typed.chars().next().filter(|first| "'\"".contains(*first));
        let partial = quote.map_or(typed, |quote| &typed[quote.len_utf8()..]);
        let mut fitting: Vec<String> = candidates.into_iter().filter(|name| name.starts_with(partial)).collect();
        fitting.sort();
        fitting.dedup();
        let pair = |name: String| {
            let awkward = !within_json && name.contains(|c: char| c.is_whitespace() || "'\"\\#".contains(c));
            let replacement = match quote.or((awkward && !name.contains('\'')).then_some('\'')) {
                Some(quote) => format!("{quote}{name}{quote}"),
                None => name.clone(),
            };
            Pair { display: text::plain(&name), replacement }
        };
        Ok((from - self.before.len(), fitting.into_iter().map(pair).collect()))
    }
}

/// The hint after the cursor.
pub(super) struct Suggestion {
    text: String,
    /// True if the hint can be accepted; otherwise it is only displayed.
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
        if terminal::has_colours() { Cow::Owned(format!("\x1b[2m{hint}\x1b[0m")) } else { Cow::Borrowed(hint) }
    }
}

impl Hinter for Helper {
    type Hint = Suggestion;

    /// The hint is the rest of an earlier line, or the arguments of a command that was typed without any.
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

/// Every line is accepted, because the shell itself prompts for the missing parts of a command.
impl Validator for Helper {}

#[cfg(test)]
mod tests;

//! `alluvium shell`: runs commands on one open database, typed or from a script.

mod complete;
mod definition;
mod history;
mod words;

use crate::context::Context;
use crate::exit::{Failure, INTERRUPTED, OK, Outcome};
use crate::mode::Mode;
use crate::notes;
use crate::report::{complain, complain_as_json, wants_json};
use crate::served::{host, visitor};
use crate::session;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::signals::{self, Stop};
use crate::text;
use alluvium::{Database, Transaction};
use clap::ValueEnum;
use complete::Helper;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Editor};
use signal_hook::consts::SIGTERM;
use signal_hook::flag::register_conditional_shutdown;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use words::Split;

/// The program's name in front of each error.
const NAME: &str = "alluvium";

/// Arguments of `shell`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the shell, commands are typed without `alluvium` and without DB. `use COLLECTION` makes COLLECTION unnecessary, too; `help` lists the \
commands, `exit` leaves. From `begin` to `commit`, commands that read and write documents are one transaction: all of it is written, or \
nothing; `abort` ends it, too. `.mode table`, `.mode json` and so on choose how documents are printed, `.mode auto` ends that. JSON needs no quotes around it. If standard input is not a terminal, commands are read from it as a script: a command that fails is reported with its \
line, the remaining ones still run, and the exit code is that of the first failure. ctrl-C stops \
the running command, and in a script the remaining ones. A script whose output is closed ends with code 1.

Examples:
  alluvium shell my.db
  alluvium shell my.db --strict < changes.txt")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Create the database if it does not exist
    #[arg(long)]
    create: bool,
    /// In a script: stop at the first command that fails
    #[arg(long)]
    strict: bool,
}

impl Args {
    /// Reads and runs commands until there are no more.
    pub(crate) fn run(&self, context: Context<'_>) -> Outcome {
        self.database.refuse_read_only(
            "use `get`, `scan`, `find`, `count`, `distinct`, `aggregate`, `export` and `stats` without a shell",
        )?;
        let stop = Stop::on_interrupts()?;
        end_when_terminated()?;
        if alluvium_server::connect(self.database.path()).is_ok() {
            return self.beside_a_server(context, stop);
        }
        let builder = if self.create { self.database.creating()? } else { self.database.builder()? };
        self.database.with_builder(builder, |database| {
            let typed = std::io::stdin().is_terminal();
            let pretty = typed && std::io::stdout().is_terminal();
            let _until_the_end = session::enter(database, &stop, pretty);
            let mut shell = Shell::new(context, database, stop);
            if typed { shell.converse() } else { shell.script(std::io::stdin().lock(), self.strict) }
        })
    }

    /// Runs the commands in the process that serves the database.
    fn beside_a_server(&self, context: Context<'_>, stop: Stop) -> Outcome {
        signals::share(Some(stop.clone()));
        let mut shell = Shell::beside_a_server(context, self.database.path(), stop);
        let outcome = match std::io::stdin().is_terminal() {
            true => {
                notes::say("another process serves this database: commands run there, and names are not completed");
                shell.converse()
            }
            false => shell.script(std::io::stdin().lock(), self.strict),
        };
        session::set_mode(None);
        signals::share(None);
        outcome
    }
}

/// Runs a line that was typed in another process's shell on the database of this session.
pub(crate) fn run_for_visitor(context: Context<'_>, collection: Option<&str>, words: &[String]) -> Outcome {
    let Some(database) = session::database() else {
        return Err(Failure::Other("the database is not open here".to_owned()));
    };
    session::continue_as_shell();
    let path = std::path::absolute(database.path()).unwrap_or_else(|_| database.path().to_owned());
    let mut definition = definition::definition(context, &path, collection);
    match definition::parse_for(&mut definition, words)? {
        Some((command, target)) => {
            host::check(&target)?;
            command.run(context)
        }
        None => Ok(()),
    }
}

/// Chooses how documents are printed, or prints the choice.
fn set_mode(modes: &[&str]) -> Outcome {
    let names = || {
        let all = Mode::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        all.map(|value| value.get_name().to_owned()).collect::<Vec<_>>()
    };
    match modes {
        [] => {
            let chosen = session::mode().and_then(|mode| mode.to_possible_value());
            say(&format!("{}\n", chosen.as_ref().map_or("auto", |value| value.get_name())))
        }
        ["auto"] => {
            session::set_mode(None);
            Ok(())
        }
        modes => {
            let mode = if let [name] = modes { Mode::from_str(name, true).ok() } else { None };
            let Some(mode) = mode else {
                return Err(Failure::Usage(format!(".mode takes one of {}", names().join(", "))));
            };
            session::set_mode(Some(mode));
            Ok(())
        }
    }
}

/// Lets SIGTERM end the shell at once, with the exit code that all commands use for it, because the shell may be
/// waiting for input.
fn end_when_terminated() -> Outcome {
    register_conditional_shutdown(SIGTERM, i32::from(INTERRUPTED), Arc::new(AtomicBool::new(true)))
        .map(drop)
        .map_err(|error| Failure::Other(format!("cannot watch for signals: {error}")))
}

/// The state of a shell.
struct Shell<'a> {
    context: Context<'a>,
    path: PathBuf,
    /// `None` if another process serves the database.
    database: Option<Database>,
    /// The collection in use.
    collection: Option<String>,
    /// The commands for the collection in use. They are kept because building them takes longer than most commands run.
    definition: clap::Command,
    stop: Stop,
}

/// The result of reading a prompt.
enum Typed {
    Text(String),
    /// Cancelled with ctrl-C.
    GivenUp,
    /// The end of the input.
    End,
}

/// The next action of the shell after a command.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Command,
    Exit,
}

impl<'a> Shell<'a> {
    fn new(context: Context<'a>, database: &Database, stop: Stop) -> Self {
        Self { database: Some(database.clone()), ..Self::beside_a_server(context, database.path(), stop) }
    }

    /// A shell for a database that another process serves.
    fn beside_a_server(context: Context<'a>, path: &Path, stop: Stop) -> Self {
        let definition = definition::definition(context, path, None);
        Self { context, path: path.to_owned(), database: None, collection: None, definition, stop }
    }

    /// Runs commands as they are typed. A failure is printed, and the shell continues.
    fn converse(&mut self) -> Outcome {
        let settings =
            rustyline::Config::builder().completion_type(CompletionType::List).history_ignore_space(true).build();
        let mut editor: Editor<Helper, FileHistory> =
            Editor::with_config(settings).map_err(|error| terminal(&error))?;
        history::load(&mut editor);
        say(&format!("{}: `help` lists the commands, `exit` leaves\n", text::path(&self.path)))?;
        editor.set_helper(Some(self.helper()));
        loop {
            if let Some(helper) = editor.helper_mut() {
                match helper.is_for(self.collection.as_deref()) {
                    true => helper.continues(""),
                    false => *helper = self.helper(),
                }
            }
            let typed = match session::take_next() {
                Some(line) => Typed::Text(line),
                None => self.read(&mut editor)?,
            };
            let line = match typed {
                Typed::Text(line) => line,
                Typed::GivenUp => continue,
                Typed::End => return Ok(()),
            };
            match self.entered(&mut editor, &line) {
                Ok(Next::Command) => {}
                Ok(Next::Exit) | Err(Failure::BrokenPipe) => return Ok(()),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Reads a command, which may have several lines.
    fn read(&self, editor: &mut Editor<Helper, FileHistory>) -> Outcome<Typed> {
        let name = text::plain(self.collection.as_deref().unwrap_or("alluvium"));
        let open = if session::transaction().is_some() { "*" } else { "" };
        let (first, next) = (format!("{name}{open}> "), format!("{:>1$}{open}> ", "...", name.chars().count()));
        let mut text = String::new();
        loop {
            match editor.readline(if text.is_empty() { &first } else { &next }) {
                Ok(line) => text += &line,
                // An interrupt cancels all lines of the command.
                Err(ReadlineError::Interrupted) => return Ok(Typed::GivenUp),
                Err(ReadlineError::Eof) if text.is_empty() => return Ok(Typed::End),
                Err(ReadlineError::Eof) => {
                    say("\n")?;
                    return Ok(Typed::GivenUp);
                }
                Err(error) => return Err(terminal(&error)),
            }
            if words::is_whole(&text) {
                return Ok(Typed::Text(text));
            }
            text.push('\n');
            if let Some(helper) = editor.helper_mut() {
                helper.continues(&text);
            }
        }
    }

    /// Runs the input of one prompt: a command, or several that were pasted. An interrupt stops the
    /// running command and skips the following ones.
    fn entered(&mut self, editor: &mut Editor<Helper, FileHistory>, text: &str) -> Outcome<Next> {
        self.stop.forget();
        let commands = words::commands(text);
        for (at, command) in commands.iter().enumerate() {
            history::add(editor, command);
            match self.line(command) {
                Ok(Next::Command) => {}
                Ok(Next::Exit) => return Ok(Next::Exit),
                Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
                Err(Failure::Interrupted(text)) if text.is_empty() => {
                    report(&Failure::Interrupted("stopped".to_owned()), command, None);
                }
                Err(failure) => report(&failure, command, None),
            }
            let rest = commands.len() - at - 1;
            if self.stop.is_set() && rest > 0 {
                notes::say(&format!("the input after it was not run: {}", text::counted(rest as u64, "command")));
                break;
            }
        }
        Ok(Next::Command)
    }

    /// Runs commands from a script. A failure is printed with its line; the first one is returned
    /// at the end.
    fn script(&mut self, mut input: impl BufRead, strict: bool) -> Outcome {
        let (mut text, mut line, mut begins_at) = (String::new(), 0_u64, 1_u64);
        let mut first = None;
        loop {
            let read = input
                .read_line(&mut text)
                .map_err(|error| Failure::Other(format!("cannot read standard input: {error}")))?;
            line += u64::from(read > 0);
            let outcome = match words::is_whole(&text) {
                false if read > 0 => continue,
                false => Err(Failure::Usage("the script ends within a quote or bracket".to_owned())),
                true => self.stop.check().and_then(|()| self.line(&text)),
            };
            let command = std::mem::take(&mut text);
            if self.stop.is_set() {
                let failure = interrupted(outcome.err(), begins_at);
                if !prints_json(&command) {
                    return Err(failure);
                }
                complain_as_json(&failure, Some(begins_at));
                return Err(failure.reported());
            }
            let exit = match outcome {
                Ok(next) => next == Next::Exit,
                Err(failure @ Failure::Interrupted(_)) => return Err(failure),
                Err(failure) => {
                    // In a script a typing error ends the transaction, too: what follows may depend on that line.
                    abort_open();
                    let unread = matches!(failure, Failure::BrokenPipe);
                    let failure = if unread { rest_not_run() } else { failure };
                    report(&failure, &command, Some(begins_at));
                    first.get_or_insert(failure.reported());
                    unread || strict
                }
            };
            if exit || read == 0 {
                let ended = all_ended();
                return first.map_or(ended, Err);
            }
            begins_at = line + 1;
        }
    }

    /// Runs a line.
    fn line(&mut self, text: &str) -> Outcome<Next> {
        let Split::Whole(words, _) = words::split(text) else {
            return Err(Failure::Usage("a quote or bracket is not closed".to_owned()));
        };
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => {}
            ["exit" | "quit" | ".exit" | ".quit"] => return Ok(Next::Exit),
            ["use"] => self.set_collection(None),
            ["use", name] => self.use_collection(name)?,
            ["use", ..] => return Err(Failure::Usage("use takes the name of one collection".to_owned())),
            ["show", "collections" | "tables" | "dbs" | "databases"] | [".tables" | ".databases"] => {
                self.run(&["collections".to_owned()])?;
            }
            ["begin"] => self.begin()?,
            ["commit"] => self.commit()?,
            ["abort" | "rollback"] => drop(ended()?),
            [word @ ("begin" | "commit" | "abort" | "rollback"), ..] => {
                return Err(Failure::Usage(format!("{word} takes no arguments")));
            }
            [".mode", modes @ ..] => set_mode(modes)?,
            ["desc" | ".schema", names @ ..] => self.describe(names)?,
            [first, ..] if first.starts_with("db.") => {
                let text =
                    "commands have this form here: `find pets {\"age\": 3}` in place of `db.pets.find({age: 3})`";
                return Err(Failure::Usage(text.to_owned()));
            }
            ["help" | ".help"] => say(&self.definition.render_help().to_string())?,
            ["help", ..] => {
                let asked: Vec<String> = words[1..].iter().cloned().chain(["--help".to_owned()]).collect();
                self.run(&asked)?;
            }
            _ => self.run(&words)?,
        }
        Ok(Next::Command)
    }

    fn run(&mut self, words: &[String]) -> Outcome {
        match definition::parse(&mut self.definition, words)? {
            Some(_) if session::transaction().is_some() && !is_in_transaction(words) => {
                let word = words.first().map_or("", String::as_str);
                Err(Failure::Usage(format!(
                    "a transaction is open, which does not take `{word}`: `commit` or `abort` it"
                )))
            }
            Some(command) if self.database.is_some() => command.run(self.context).inspect_err(|_| abort_open()),
            Some(_) => self.visit(words),
            None => Ok(()),
        }
    }

    /// Begins a transaction, to which the commands that read and write documents belong until `commit` or `abort`.
    fn begin(&self) -> Outcome {
        let Some(database) = &self.database else {
            return Err(Failure::Usage("a database that another process serves takes no transactions here".to_owned()));
        };
        if session::transaction().is_some() {
            return Err(Failure::Usage("a transaction is open already: `commit` or `abort` it".to_owned()));
        }
        session::set_transaction(Some(database.begin()));
        Ok(())
    }

    /// Commits the transaction. It is durable when the command succeeds.
    fn commit(&self) -> Outcome {
        ended()?.commit()?;
        self.database.as_ref().map_or(Ok(()), |database| Ok(database.sync()?))
    }

    /// Lets the process that serves the database run a command.
    fn visit(&self, words: &[String]) -> Outcome {
        match visitor::run_line(&self.path, self.collection.as_deref(), words) {
            Some(OK) => Ok(()),
            Some(INTERRUPTED) => Err(Failure::Interrupted(String::new())),
            Some(code) => Err(Failure::Reported(code)),
            None => Err(Failure::Other(
                "no process runs commands on this database any more: leave the shell, and start it again".to_owned(),
            )),
        }
    }

    /// Describes the collection with the given name, or the collection in use.
    fn describe(&mut self, names: &[&str]) -> Outcome {
        let option = (self.collection.is_some() && !names.is_empty()).then_some("--collection");
        let words = ["describe"].into_iter().chain(option).chain(names.iter().copied());
        self.run(&words.map(str::to_owned).collect::<Vec<_>>())
    }

    /// Sets the collection. If it does not exist, prints a note; the first write creates it.
    fn use_collection(&mut self, name: &str) -> Outcome {
        let there = self.database.as_ref().map(Database::collections);
        if there.is_some_and(|there| {
            !there.iter().any(|info| info.full_name() == name || info.database == "main" && info.name == name)
        }) {
            notes::say(&format!("there is no collection {name} yet"));
        }
        self.set_collection(Some(name));
        Ok(())
    }

    fn set_collection(&mut self, name: Option<&str>) {
        if self.collection.as_deref() != name {
            self.collection = name.map(str::to_owned);
            self.definition = definition::definition(self.context, &self.path, name);
        }
    }

    fn helper(&self) -> Helper {
        Helper::new(self.definition.clone(), self.database.clone(), self.collection.clone())
    }
}

/// The commands that belong to an open transaction.
const IN_TRANSACTION: [&str; 9] = ["aggregate", "count", "delete", "distinct", "find", "get", "put", "scan", "update"];

/// True for a command of a transaction, and for a request for help.
fn is_in_transaction(words: &[String]) -> bool {
    words.first().is_some_and(|word| IN_TRANSACTION.contains(&word.as_str()))
}

/// Aborts the open transaction after a failure. It stays open, so that the commands up to its end write nothing.
fn abort_open() {
    if let Some(transaction) = session::transaction() {
        transaction.abort();
    }
}

/// Takes the open transaction, to end it.
fn ended() -> Outcome<Transaction> {
    session::set_transaction(None).ok_or_else(|| Failure::Usage("no transaction is open: `begin` opens one".to_owned()))
}

/// A failure if a script has left a transaction open.
fn all_ended() -> Outcome {
    match session::set_transaction(None) {
        None => Ok(()),
        Some(transaction) => {
            transaction.abort();
            let text = "the script ended within a transaction, and nothing of it was written: end it by `commit`";
            Err(Failure::Other(text.to_owned()))
        }
    }
}

/// The steps of the shell before a line runs, for fuzzing.
pub(crate) struct Reader {
    definition: clap::Command,
    helper: Helper,
}

impl Reader {
    /// A reader for a database, with the collection in use.
    pub(crate) fn new(context: Context<'_>, database: Database, collection: Option<String>) -> Self {
        let definition = definition::definition(context, database.path(), collection.as_deref());
        Self { helper: Helper::new(definition.clone(), Some(database), collection), definition }
    }

    /// Splits, parses and completes a line.
    pub(crate) fn read(&mut self, line: &str) {
        if let Split::Whole(words, _) = words::split(line) {
            let refused = definition::parse(&mut self.definition, &words).err();
            assert!(refused.is_none_or(|failure| !failure.to_string().is_empty()));
        }
        for pos in (0..=line.len()).filter(|&pos| line.is_char_boundary(pos)) {
            let begins = self.helper.replaces_from(line, pos);
            assert!(begins <= pos && line.is_char_boundary(begins), "{line:?} at {pos}: from {begins}");
        }
    }
}

/// Prints a failure: as JSON if the command has `--json`, otherwise with its line in the script.
fn report(failure: &Failure, command: &str, line: Option<u64>) {
    match line {
        None if matches!(failure, Failure::Reported(_)) => {}
        Some(line) if matches!(failure, Failure::Reported(_)) => {
            complain(NAME, &Failure::Other(format!("line {line} failed with exit code {}", failure.exit_code())));
        }
        _ if prints_json(command) => complain_as_json(failure, line),
        Some(line) => complain(NAME, &Failure::Other(format!("line {line}: {failure}"))),
        None => complain(NAME, failure),
    }
}

/// True if the command requests JSON.
fn prints_json(command: &str) -> bool {
    let (Split::Whole(words, _) | Split::Open(words, _)) = words::split(command);
    wants_json(words)
}

/// The failure that ends a script after an interrupt, even if the command of this line had finished.
fn interrupted(failure: Option<Failure>, line: u64) -> Failure {
    let text = match failure.map(|failure| failure.to_string()) {
        Some(text) if !text.is_empty() => text,
        _ => "stopped".to_owned(),
    };
    Failure::Interrupted(format!("line {line}: {text}; the rest of the script was not run"))
}

/// The failure of a script that ends because its output was closed.
fn rest_not_run() -> Failure {
    Failure::Other("the output was closed; the rest of the script was not run".to_owned())
}

fn terminal(error: &ReadlineError) -> Failure {
    Failure::Other(format!("cannot read from the terminal: {error}"))
}

fn say(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))
}

#[cfg(test)]
mod tests;

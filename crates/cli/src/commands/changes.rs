//! `alluvium changes`: chooses the collections whose changes are recorded.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::settings::scopes::{self, ScopeArgs};
use crate::text;
use alluvium::{ChangeScope, Database, Value};
use alluvium_document::json::{self, Format};

/// Subcommands of `changes`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List what is recorded, since when, and for how long
    List(ListArgs),
    /// Record the changes of a collection, a logical database, or everything
    Record(RecordArgs),
    /// Stop recording what `record` or a change stream has begun
    Stop(StopArgs),
}

/// Arguments of `changes record`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium changes record my.db
  alluvium changes record my.db shop
  alluvium changes record my.db main.pets

From then on, each change of a document is stored in the batch of its write, also after a restart, and of collections that are created later. It is \
recorded until `changes stop`. Change streams find every change, as long as it is kept: `serve --change-retention` has the limits. A recorded write \
reads its document, and stores two to four times the bytes. When the command succeeds, the change is on the disk.")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Arguments of `changes stop`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium changes stop my.db shop
  alluvium changes stop my.db

NAME is one that `changes list` prints. The changes that no other name records are removed, and change streams that read them end. When the command \
succeeds, the change is on the disk.")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Arguments of `changes list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium changes list my.db
  alluvium changes list my.db --json

Prints a line for each name: the time of the first change that is kept, whichever collection it is of, and whether the name is recorded until `changes \
stop` or as long as change streams read it. The number of the changes, and their bytes, are estimates.")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::List(args) => args.run(),
            Self::Record(args) => args.run(),
            Self::Stop(args) => args.run(),
        }
    }
}

impl RecordArgs {
    fn run(&self) -> Outcome {
        let scope = self.scope.scope()?;
        self.database.refuse_read_only("nothing in it changes")?;
        self.database.with(|database| {
            database.record_changes(scope.clone())?;
            scopes::note_if_missing(database, &scope);
            let mut out = Output::new();
            out.text(&format!("the changes of {} are recorded\n", text::plain(&scope.to_string())))?;
            out.finish()
        })
    }
}

impl StopArgs {
    fn run(&self) -> Outcome {
        let scope = self.scope.scope()?;
        self.database.refuse_read_only("nothing in it changes")?;
        self.database.with(|database| {
            let shown = text::plain(&scope.to_string());
            if !database.stop_recording(&scope)? {
                return Err(Failure::NotFound(format!(
                    "the changes of {shown} are not recorded under this name: `alluvium changes list` shows the names"
                )));
            }
            database.sync()?;
            let mut out = Output::new();
            out.text(&format!("the changes of {shown} are no longer recorded\n"))?;
            out.finish()
        })
    }
}

impl ListArgs {
    fn run(&self) -> Outcome {
        self.database.refuse_read_only("nothing in it changes")?;
        self.database.with(|database| if self.json { print_json(database) } else { print_lines(database) })
    }
}

fn print_json(database: &Database) -> Outcome {
    let recorded = database.recorded();
    let mut scopes = Vec::new();
    for recorded in &recorded {
        let first_ms = database.kept_changes(recorded.since)?.first_ms;
        scopes.push(serde_json::json!({
            "name": name_of(&recorded.scope),
            "since": recorded.since,
            "first_unix_ms": first_ms,
            "automatic": recorded.used_ms.is_some(),
            "last_used_unix_ms": recorded.used_ms,
        }));
    }
    let kept = database.kept_changes(recorded.iter().map(|recorded| recorded.since).min().unwrap_or(0))?;
    let mut out = Output::new();
    out.json(&serde_json::json!({
        "recorded": scopes,
        "changes_estimated": kept.changes,
        "bytes_estimated": kept.bytes,
    }))?;
    out.finish()
}

fn print_lines(database: &Database) -> Outcome {
    let recorded = database.recorded();
    let mut out = Output::new();
    let Some(since) = recorded.iter().map(|recorded| recorded.since).min() else {
        out.text("nothing is recorded\n")?;
        return out.finish();
    };
    let mut rows = Vec::new();
    for recorded in &recorded {
        let first_ms = database.kept_changes(recorded.since)?.first_ms;
        let first = first_ms.map_or_else(|| "no changes yet".to_owned(), |ms| format!("since {}", date(ms)));
        let until = match recorded.used_ms {
            None => "until it is stopped".to_owned(),
            Some(used_ms) => format!("automatic, last used {}", date(used_ms)),
        };
        let name = name_of(&recorded.scope).unwrap_or_else(|| "everything".to_owned());
        rows.push((text::plain(&name), format!("{first}, {until}")));
    }
    out.text(&text::columns(&rows))?;
    let kept = database.kept_changes(since)?;
    out.text(&format!("about {}, {}\n", text::counted(kept.changes, "change"), text::bytes(kept.bytes)))?;
    out.finish()
}

/// The name of a scope as an argument; `None` for everything.
fn name_of(scope: &ChangeScope) -> Option<String> {
    match scope {
        ChangeScope::Everything => None,
        ChangeScope::Logical(logical) => Some(logical.to_string()),
        ChangeScope::Collection(name) => Some(name.to_string()),
    }
}

/// A date as people read it.
fn date(ms: i64) -> String {
    let json = json::to_string(&Value::DateTime(ms), Format::RELAXED).unwrap_or_default();
    let date = serde_json::from_str::<serde_json::Value>(&json).unwrap_or_default();
    date["$date"].as_str().map_or_else(|| format!("{ms} ms"), str::to_owned)
}

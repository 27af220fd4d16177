//! `alluvium watch`: prints changes of documents as they happen.

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::notes;
use crate::output::Output;
use crate::session;
use crate::settings::database::DatabaseArgs;
use crate::settings::pipelines;
use crate::settings::queries::whole;
use crate::settings::scopes::{self, ScopeArgs};
use crate::signals::{SIGNAL_CHECK, Stop};
use alluvium::{BeforeDocument, ChangeScope, ChangeStream, Database, FullDocument, ResumeToken, Value, Watch};
use alluvium_document::json::{self, Format};
use clap::ValueEnum;
use std::path::PathBuf;

/// The place is kept after this number of events, also if more follow at once.
const KEPT_AFTER: u64 = 1000;

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium watch my.db
  alluvium watch my.db shop.orders '[{\"$match\": {\"operationType\": \"insert\"}}]'
  alluvium watch my.db shop --token-file shop.token | ./send-to-search
  alluvium watch my.db --since 2026-11-01T00:00:00Z --no-wait

Prints an event of MongoDB's change streams as a line of JSON for each change, and waits for more, until it is interrupted. The first watch of a \
collection, a logical database or everything begins to record its changes (`alluvium changes`), and prints those from then on. With --token-file, the \
place is kept in a file, and the next call continues there: after a crash, the last events may be printed again, and none is left out.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Stages that events pass: $match, $project, $addFields, $set, $unset, $replaceRoot, $replaceWith and $redact
    #[arg(value_name = "PIPELINE")]
    pipeline: Option<String>,
    /// Begin after this token: the text of `_data` in the `_id` of an event
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["since", "token_file"])]
    resume_after: Option<String>,
    /// Begin with the first recorded change at this time, such as 2026-11-01T00:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "token_file")]
    since: Option<String>,
    /// Begin after the token in this file if it exists, and keep the token of the last event there
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The document in the event of an update
    #[arg(long, value_name = "WHICH", default_value = "default")]
    full_document: Full,
    /// The document before the change
    #[arg(long, value_name = "WHICH", default_value = "off")]
    before: Before,
    /// Print events of new collections, of indexes and of options, too, and more fields
    #[arg(long)]
    expanded: bool,
    /// End after N events; 0 means no limit, the default
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    limit: Option<u64>,
    /// End when there are no more events, instead of waiting
    #[arg(long)]
    no_wait: bool,
}

/// The document in the event of an update.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Full {
    /// None
    Default,
    /// As it is when the event is printed
    UpdateLookup,
    /// As the change left it, or null if the collection does not keep documents before changes
    WhenAvailable,
    /// As the change left it, or an error
    Required,
}

/// The document before the change.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Before {
    /// None
    Off,
    /// The document, or null if the collection does not keep documents before changes
    WhenAvailable,
    /// The document, or an error
    Required,
}

impl Args {
    /// Prints the events.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        let scope = self.scope.scope()?;
        self.database.refuse_read_only("nothing in it changes")?;
        self.database.with(|database| {
            scopes::note_if_missing(database, &scope);
            let mut stream = self.open(database, &scope)?.run().map_err(pipelines::refused)?;
            self.print(&mut stream, &stop)
        })
    }

    fn open(&self, database: &Database, scope: &ChangeScope) -> Outcome<Watch> {
        let watch = match scope {
            ChangeScope::Everything => database.watch(),
            ChangeScope::Logical(logical) => database.logical_database(logical.as_str()).watch(),
            ChangeScope::Collection(name) => database.collection(&name.to_string()).watch(),
        };
        let mut watch = watch
            .full_document(match self.full_document {
                Full::Default => FullDocument::Default,
                Full::UpdateLookup => FullDocument::UpdateLookup,
                Full::WhenAvailable => FullDocument::WhenAvailable,
                Full::Required => FullDocument::Required,
            })
            .before_change(match self.before {
                Before::Off => BeforeDocument::Off,
                Before::WhenAvailable => BeforeDocument::WhenAvailable,
                Before::Required => BeforeDocument::Required,
            })
            .expanded(self.expanded);
        if let Some(stages) = &self.pipeline {
            let stages = pipelines::stages_of(stages)?.into_iter().map(Value::Map);
            watch = watch.pipeline(stages.collect::<Value>());
        }
        if let Some(token) = self.token()? {
            // A token that was kept at the end of a collection continues with the next collection of that name.
            watch = watch.start_after(token);
        } else if let Some(time) = &self.since {
            watch = watch.from_number(number_at(database, scope, time)?);
        }
        Ok(watch)
    }

    /// The token that the arguments give.
    fn token(&self) -> Outcome<Option<ResumeToken>> {
        let (text, origin) = match (&self.resume_after, &self.token_file) {
            (Some(text), _) => (text.clone(), "--resume-after".to_owned()),
            (_, Some(path)) => match files::text_of(path)? {
                Some(text) => (text, path.display().to_string()),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let token = text.trim().parse().map_err(|error| Failure::Usage(format!("{origin}: {error}")))?;
        Ok(Some(token))
    }

    fn print(&self, stream: &mut ChangeStream, stop: &Stop) -> Outcome {
        let mut out = Output::new();
        let (mut printed, mut is_idle) = (0_u64, false);
        self.keep(stream)?;
        let end = loop {
            // An event that was taken is printed, before the place behind it is kept.
            if let Err(interrupted) = stop.check() {
                break Err(interrupted);
            }
            match if is_idle { stream.next_within(SIGNAL_CHECK)? } else { stream.next_event()? } {
                Some(event) => {
                    is_idle = false;
                    out.map(&event, Format::RELAXED)?;
                    printed += 1;
                    if printed % KEPT_AFTER == 0 {
                        out.flush()?;
                        self.keep(stream)?;
                    }
                    if self.limit.is_some_and(|limit| limit > 0 && printed >= limit) {
                        break Ok(());
                    }
                }
                None if self.no_wait || stream.is_invalidated() => break Ok(()),
                None if !session::is_open() => {
                    notes::say(
                        "there are no more changes, and no other process can make any while this one has the database \
                         open: watch a database that is being served",
                    );
                    break Ok(());
                }
                None if !is_idle => {
                    out.flush()?;
                    self.keep(stream)?;
                    is_idle = true;
                }
                None => {}
            }
        };
        out.finish()?;
        self.keep(stream)?;
        end
    }

    /// Keeps the place in the file, after the events before it were printed.
    fn keep(&self, stream: &ChangeStream) -> Outcome {
        let Some(path) = &self.token_file else { return Ok(()) };
        files::replace(path, &format!("{}\n", stream.token()))
    }
}

/// The number of the first recorded change at a time or later.
fn number_at(database: &Database, scope: &ChangeScope, time: &str) -> Outcome<u64> {
    let wrong = || Failure::Usage(format!("--since: {time} is not a time such as 2026-11-01T00:00:00Z"));
    let since = json::parse_date(time).ok_or_else(wrong)?;
    let mut changes = database.changes(scope, None)?;
    while let Some(change) = changes.next_change()? {
        if change.time_ms >= since {
            return Ok(change.number);
        }
    }
    Ok(changes.token().number.saturating_add(1))
}

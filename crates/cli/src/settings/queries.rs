//! Filters and their options.

use crate::exit::{Failure, Outcome};
use crate::relaxed;
use crate::settings::database::Readable;
use crate::signals::Stop;
use crate::streams;
use crate::text;
use alluvium::{ErrorKind, Find, Hint, Map, Value};
use std::time::Duration;

/// The help of `--explain` for commands that write.
pub(crate) const EXPLAIN_A_WRITE: &str = "Print how the matching documents would be found, and write nothing";

/// Options of commands with a filter.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct QueryArgs {
    /// Use this index, given by its name or keys, even if another one is cheaper; {"$natural": 1} scans all documents
    #[arg(long, value_name = "INDEX")]
    pub(crate) hint: Option<String>,
    /// Compare strings by the rules of a language, as in MongoDB: {"locale": "en", "strength": 2} ignores case
    #[arg(long, value_name = "JSON")]
    pub(crate) collation: Option<String>,
    /// Stop with an error after this many milliseconds; 0 means no limit, the default
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) max_time: Option<u64>,
    /// Run the query, and print how it was executed instead of its result
    #[arg(long)]
    pub(crate) explain: bool,
}

impl QueryArgs {
    /// A query for the filter; without a filter, for all documents. It ends when `stop` is set.
    pub(crate) fn find(&self, collection: &Readable, filter: Option<&str>, stop: &Stop) -> Outcome<Find> {
        let filter = filter.map(|filter| map_of("the filter", filter)).transpose()?;
        let mut find = collection.find(filter.unwrap_or_default()).stop_when(stop.flag());
        if let Some(hint) = self.hint()? {
            find = find.hint(hint);
        }
        if let Some(collation) = self.collation()? {
            find = find.collation(collation);
        }
        if let Some(ms) = self.max_time {
            find = find.max_time(Duration::from_millis(ms));
        }
        Ok(find)
    }

    /// The index that `--hint` names.
    pub(crate) fn hint(&self) -> Outcome<Option<Hint>> {
        match self.hint.as_deref() {
            Some(keys) if keys.trim_start().starts_with('{') => Ok(Some(map_of("--hint", keys)?.into())),
            name => Ok(name.map(Hint::from)),
        }
    }

    /// The options of `--collation`.
    pub(crate) fn collation(&self) -> Outcome<Option<Map>> {
        self.collation.as_deref().map(|options| map_of("--collation", options)).transpose()
    }

    /// True if an option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.hint.is_some() || self.collation.is_some() || self.max_time.is_some() || self.explain
    }
}

/// Parses a whole number, 0 or more.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it takes a whole number, 0 or more".to_owned())
}

/// The failure of a write by filter. If the write was stopped, the message contains the number of documents written.
pub(crate) fn stopped(error: alluvium::Error) -> Failure {
    match error {
        alluvium::Error::Stopped => Failure::Interrupted("stopped before any change".to_owned()),
        error if error.kind() == ErrorKind::Stopped => Failure::Interrupted(error.to_string()),
        error => error.into(),
    }
}

/// The time limit for counting the other matching documents after a write that changes only one.
const COUNT_TIME: Duration = Duration::from_secs(1);

/// The number of matching documents in addition to the `written` ones; `None` if counting takes too long.
pub(crate) fn others(find: Find, written: u64, stop: &Stop) -> Option<u64> {
    let counted = find.max_time(COUNT_TIME).stop_when(stop.flag()).count();
    counted.ok().map(|documents| documents.saturating_sub(written))
}

/// Prints a note about matching documents that were not written.
pub(crate) fn print_others(others: Option<u64>, verb: &str) {
    match others {
        Some(0) => {}
        Some(1) => streams::complain(&format!("note: 1 more document matches; --many {verb} all that match")),
        Some(n) => {
            streams::complain(&format!("note: {} more documents match; --many {verb} all that match", text::count(n)));
        }
        None => streams::complain(&format!("note: more documents may match; --many {verb} all that match")),
    }
}

/// Parses a JSON object from the command line.
pub(crate) fn map_of(what: &str, text: &str) -> Outcome<Map> {
    match relaxed::parse(text) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(other) => {
            let kind = other.type_name();
            Err(Failure::wrong_type(format!("{what} must be a JSON object, such as {{\"a\": 1}}, not of type {kind}")))
        }
        Err(error) => Err(Failure::no_json(format!("{what} must be JSON, such as {{\"a\": 1}}: {error}"))),
    }
}

/// Parses the filters of `--array-filters`: a JSON array of objects.
pub(crate) fn maps_of(text: &str) -> Outcome<Vec<Map>> {
    let what = "--array-filters must be a JSON array of filters, such as [{\"x\": {\"$gte\": 5}}]";
    let other = |value: &Value| Failure::wrong_type(format!("{what}, not of type {}", value.type_name()));
    match relaxed::parse(text) {
        Ok(Value::Array(filters)) => filters
            .into_iter()
            .map(|filter| match filter {
                Value::Map(map) => Ok(map),
                value => Err(other(&value)),
            })
            .collect(),
        Ok(value) => Err(other(&value)),
        Err(error) => Err(Failure::no_json(format!("{what}: {error}"))),
    }
}

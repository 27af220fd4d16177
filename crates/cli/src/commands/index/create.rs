//! `alluvium index create`.

use crate::commands::collections;
use crate::exit::{Failure, Outcome};
use crate::notes;
use crate::output::Output;
use crate::progress::Meter;
use crate::relaxed;
use crate::settings::database::CollectionArgs;
use crate::settings::ids;
use crate::settings::queries::map_of;
use crate::signals::Stop;
use crate::text;
use alluvium::{Collection, Error, IndexBuild, Map, Value};
use alluvium_env::Env;
use std::time::Duration;

/// Arguments of `index create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium index create my.db comments '{\"author\": 1, \"created\": -1}'
  alluvium index create my.db users '{\"mail\": 1}' --unique --sparse
  alluvium index create my.db orders '{\"day\": 1}' --partial '{\"open\": true}' --name open_by_day
  alluvium index create my.db sessions '{\"seen\": 1}' --expire-after 3600
  alluvium index create my.db users '{\"mail\": 1}' --unique --collation '{\"locale\": \"en\", \"strength\": 2}'

KEYS are fields, each with 1 (ascending), -1 (descending) or \"hashed\" (for equality only). The index is built over the \
existing documents, and every later write maintains it. A build that is interrupted continues when the database is opened again, \
or when the same command is run again. When the command succeeds, the index is on the disk, in the shell as on the command line.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The fields and their orders, in JSON, such as {"author": 1, "created": -1}
    #[arg(value_name = "KEYS")]
    keys: String,
    /// Refuse a second document with the same key
    #[arg(long)]
    unique: bool,
    /// Leave out documents that have none of the fields
    #[arg(long)]
    sparse: bool,
    /// Only documents that match this filter, in JSON
    #[arg(long, value_name = "FILTER")]
    partial: Option<String>,
    /// Order strings by the rules of a language, as in MongoDB: {"locale": "en", "strength": 2} ignores case. The index then finds strings for queries with the same --collation only
    #[arg(long, value_name = "JSON")]
    collation: Option<String>,
    /// Delete documents this many seconds after the date in the field. A process that has the database open, such as `alluvium shell`, does so every minute, and so does `alluvium expire` when it runs
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    expire_after: Option<i64>,
    /// The name of the index; by default the fields and orders, as in author_1_created_-1
    #[arg(long = "name", id = "index_name", value_name = "NAME")]
    index_name: Option<String>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// The outcome of a build.
struct Made {
    name: String,
    is_new: bool,
    /// True if the index was already declared and being built.
    waited: bool,
    documents: u64,
}

impl Args {
    /// Creates the index, and reports it. The database and the collection are created if they do
    /// not exist.
    pub(crate) fn run(&self) -> Outcome {
        super::refuse_read_only(&self.collection.database)?;
        let keys = map_of("KEYS", &self.keys)?;
        let options = self.options()?;
        let stop = Stop::on_signals()?;
        let mut meter = Meter::new(&Env::os());
        // Invalid arguments must not create a database.
        alluvium::check_name(&self.collection.name)?;
        alluvium::check_index(&keys, &options)?;
        let builder = self.collection.database.creating()?;
        let made = self.collection.database.with_builder(builder, |database| {
            let collection = database.collection(&self.collection.name);
            let full_name = collection.full_name()?;
            let there = database.collections().iter().any(|info| info.full_name() == full_name);
            let partial = options.get("partialFilterExpression").cloned();
            let made = collections::without_leftover(&collection, || {
                let build = collection.create_index(keys).options(options).stop_when(stop.flag()).start()?;
                if !there {
                    notes::say(&format!("the collection {full_name} did not exist; it was created, and is empty"));
                }
                finish(build, &collection, partial, &meter)
            })?;
            database.sync()?;
            Ok(made)
        })?;
        meter.end();
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({
                "index": made.name,
                "created": made.is_new,
                "waited": made.waited,
                "documents": made.documents,
                "seconds": meter.took().as_secs_f64(),
            }))?;
        } else if made.is_new {
            let documents = text::counted(made.documents, "document");
            let took = text::duration(meter.took());
            out.text(&format!("created the index {} over {documents} in {took}\n", text::plain(&made.name)))?;
        } else if made.waited {
            let took = text::duration(meter.took());
            out.text(&format!("the index {} was being built: after {took} it is ready\n", text::plain(&made.name)))?;
        } else {
            out.text(&format!("the index {} exists already and is ready\n", text::plain(&made.name)))?;
        }
        out.finish()
    }

    fn options(&self) -> Outcome<Map> {
        let mut options = Map::new();
        if let Some(name) = &self.index_name {
            options.push("name", name.as_str());
        }
        for (name, on) in [("unique", self.unique), ("sparse", self.sparse)] {
            if on {
                options.push(name, true);
            }
        }
        if let Some(filter) = &self.partial {
            options.push("partialFilterExpression", map_of("the filter of --partial", filter)?);
        }
        if let Some(collation) = &self.collation {
            options.push("collation", map_of("--collation", collation)?);
        }
        if let Some(seconds) = self.expire_after {
            options.push("expireAfterSeconds", seconds);
        }
        Ok(options)
    }
}

/// Waits until the index is built, and shows the progress.
fn finish(build: IndexBuild, collection: &Collection, partial: Option<Value>, meter: &Meter) -> Outcome<Made> {
    let (is_new, progress, name) = (build.is_new(), build.progress(), build.name().to_owned());
    let waited = !is_new && collection.indexes()?.iter().any(|index| index.name == name && !index.ready);
    let shown = progress.clone();
    let watched = meter.watch_with(move |took| {
        let (documents, expected) = (shown.documents(), shown.documents_expected());
        let per_second = text::ratio(documents as f64, took.as_secs_f64()).unwrap_or(0.0);
        let of =
            if expected > 0 { format!(" of about {}", text::count(expected.max(documents))) } else { String::new() };
        format!("{}{of} documents  {}/s", text::count(documents), text::count(per_second as u64))
    });
    let result = build.run();
    watched.end();
    match result {
        Ok(name) => Ok(Made { name, is_new, waited, documents: progress.documents() }),
        Err(Error::Stopped) => {
            let (name, collection) = (text::plain(&name), text::plain(&collection.full_name()?));
            Err(Failure::Interrupted(format!(
                "stopped: the index {name} of {collection} is not ready; its build continues when the database is opened \
                 again; the same command waits for it, and `index drop` cancels it"
            )))
        }
        Err(error) => {
            let Error::DuplicateIndexKey { key, .. } = &error else { return Err(error.into()) };
            let mut advice = format!("the index {} was not created", text::plain(&name));
            if let Some(ids) = ids_of(collection, key, partial) {
                advice += &format!("; documents with this key: {ids}");
            }
            Err(Failure::explained(error, Some(advice)))
        }
    }
}

/// The `_id`s of the first documents with an index key. `key` is the key as an error prints it:
/// `{path: value, …}`.
fn ids_of(collection: &Collection, key: &str, partial: Option<Value>) -> Option<String> {
    const MOST: u64 = 3;
    const TIME: Duration = Duration::from_secs(10);
    let Ok(key @ Value::Map(_)) = relaxed::parse(key) else { return None };
    let mut filter = Map::new();
    filter.push("$and", Value::Array(partial.into_iter().chain([key]).collect()));
    let found = collection.find(filter).limit(MOST + 1).max_time(TIME).run().ok()?;
    let mut ids: Vec<String> = found.filter_map(|document| Some(ids::show(document.ok()?.id()))).collect();
    let more = ids.len() as u64 > MOST;
    ids.truncate(MOST as usize);
    (ids.len() > 1).then(|| ids.join(", ") + if more { ", …" } else { "" })
}

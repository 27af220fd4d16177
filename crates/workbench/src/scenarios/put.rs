//! Writes of comments as JSON text, by one thread: one document per commit, or many.

use super::documents::state;
use super::run::{Counters, Outcome, Plan, run};
use crate::comments::Generator;
use alluvium::{Collection, Database, IntoDocument, Map, Result, Value};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The number of documents in one `insert_many`.
const BATCH: usize = 1000;

/// How comments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// [`Collection::put`], which does not check whether the `_id` exists.
    Put,
    /// [`Collection::insert_one`], which looks up the `_id` first.
    InsertOne,
    /// [`Collection::insert_many`] with 1000 documents.
    InsertMany,
}

/// Parameters of the writes.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of comments.
    pub documents: u64,
    /// How they are written.
    pub how: How,
    /// True if each text is parsed into a map, and the map is written.
    pub parse: bool,
    /// The seed of the comments.
    pub seed: u64,
}

/// Writes generated comments, and waits until all compactions are done. The texts are generated in memory before the
/// measurement begins. The comments have the same `_id`s each time, so they can be inserted only once.
///
/// # Errors
/// Errors of the writes.
pub fn put(database: &Database, collection: &Collection, settings: &Settings) -> Result<Outcome> {
    let texts = texts(settings)?;
    let batches = texts.len().div_ceil(BATCH) as u64;
    let plan = Plan {
        name: format!("{:?}", settings.how),
        threads: 1,
        duration: Duration::MAX,
        operations: if settings.how == How::InsertMany { batches } else { texts.len() as u64 },
    };
    let clock = alluvium_env::Env::os().clock;
    run(&plan, &clock, &state(database), &|worker| {
        match settings.how {
            How::InsertMany => {
                for batch in texts.chunks(BATCH) {
                    worker.timed(|| insert_many(collection, batch, settings.parse))?;
                    worker.counters.put.fetch_add(batch.len() as u64, Ordering::Relaxed);
                }
            }
            one => {
                for comment in &texts {
                    worker.timed(|| write_one(collection, comment, one, settings.parse))?;
                    Counters::add(&worker.counters.put);
                }
            }
        }
        database.wait_for_compaction()
    })
}

/// A comment: its `_id`, and its text including the `_id`.
struct Comment {
    id: Value,
    text: String,
}

fn texts(settings: &Settings) -> Result<Vec<Comment>> {
    let mut generator = Generator::new(settings.seed);
    let mut line = Vec::new();
    let comment = |_| {
        line.clear();
        generator.write_line(&mut line);
        let text = String::from_utf8_lossy(&line);
        let id = text.trim_end().into_map()?.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        // The `_id` is added as the first field; the rest of the line is unchanged.
        let text = text.trim_end().replacen('{', &format!("{{\"_id\":\"{id}\","), 1);
        Ok(Comment { id: id.into(), text })
    };
    (0..settings.documents).map(comment).collect()
}

fn parsed(comment: &Comment) -> Result<Map> {
    Ok(comment.text.as_str().into_map()?)
}

fn write_one(collection: &Collection, comment: &Comment, how: How, parse: bool) -> Result<()> {
    let text = comment.text.as_str();
    match (how, parse) {
        (How::Put, false) => collection.put(comment.id.clone(), text),
        (How::Put, true) => collection.put(comment.id.clone(), parsed(comment)?),
        (_, false) => collection.insert_one(text).map(drop),
        (_, true) => collection.insert_one(parsed(comment)?).map(drop),
    }
}

fn insert_many(collection: &Collection, batch: &[Comment], parse: bool) -> Result<()> {
    match parse {
        false => collection.insert_many(batch.iter().map(|comment| comment.text.as_str())).map(drop),
        true => collection.insert_many(batch.iter().map(parsed).collect::<Result<Vec<Map>>>()?).map(drop),
    }
}

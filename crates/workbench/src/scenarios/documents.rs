//! Documents: loading comments, random gets, and updates that add 1 to the score.

mod sample;

use super::run::{Counters, Outcome, Plan, run};
use crate::comments::Generator;
use alluvium::load::{Input, Load};
use alluvium::{Collection, Database, Map, Result, Value};
use std::hint::black_box;
use std::io::Read;
use std::time::Duration;

pub use sample::sample_ids;

/// Parameters of gets and updates.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of threads.
    pub threads: usize,
    /// How long the threads run.
    pub duration: Duration,
    /// The number of operations after which the threads end early; 0 is no limit.
    pub operations: u64,
    /// The share of gets whose `_id` exists, 0 to 1.
    pub find_rate: f64,
    /// The type into which a document is read.
    pub form: Form,
    /// The seed of the random choices.
    pub seed: u64,
}

/// The type into which a get reads a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// A [`alluvium::Document`], whose fields are read on request.
    #[default]
    Document,
    /// A [`Map`] of all fields.
    Map,
    /// A serde type with five of the fields, decoded without a map in between.
    Typed,
}

/// Five fields of a comment.
#[derive(Debug, serde::Deserialize)]
#[allow(dead_code, reason = "the fields are read from the row, and then dropped")]
struct Typed {
    author: String,
    subreddit: String,
    body: String,
    score: i64,
    created_utc: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threads: 1,
            duration: Duration::from_secs(10),
            operations: 0,
            find_rate: 1.0,
            form: Form::Document,
            seed: 1,
        }
    }
}

/// A load of generated comments, like a load of a file, with `id` as the `_id`.
pub fn load(collection: &Collection, documents: u64, seed: u64) -> Load<'_> {
    collection.load(comments(documents, seed)).id_field("id")
}

/// Generated comments as an input. Each comment has an `id`.
pub fn comments(documents: u64, seed: u64) -> Input {
    let stream = Comments { generator: Generator::new(seed), left: documents, buffer: Vec::new(), at: 0 };
    Input::stream("generated comments", stream)
}

/// Generated comments as a stream of bytes.
struct Comments {
    generator: Generator,
    left: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Read for Comments {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            while self.left > 0 && self.buffer.len() < 256 << 10 {
                self.generator.write_line(&mut self.buffer);
                self.left -= 1;
            }
        }
        let rest = self.buffer.get(self.at..).unwrap_or(&[]);
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// Gets random documents by `_id`.
///
/// # Errors
/// Errors of the gets.
pub fn get(database: &Database, collection: &Collection, ids: &[Value], settings: &Settings) -> Result<Outcome> {
    let (clock, typed) = (alluvium_env::Env::os().clock, collection.typed());
    run(&plan("get", settings), &clock, &state(database), &|worker| {
        let mut random = fastrand::Rng::with_seed(settings.seed + worker.index as u64);
        while worker.goes_on() {
            let id = if random.f64() < settings.find_rate {
                ids[random.usize(0..ids.len())].clone()
            } else {
                Value::from(format!("no such id {}", random.u64(..)))
            };
            if worker.timed(|| get_as(collection, &typed, id, settings.form))? {
                Counters::add(&worker.counters.get_found);
            }
            Counters::add(&worker.counters.get);
        }
        Ok(())
    })
}

/// Reads a document. Returns whether it exists.
fn get_as(collection: &Collection, typed: &Collection<Typed>, id: Value, form: Form) -> Result<bool> {
    Ok(match form {
        Form::Document => black_box(collection.get(id)?).is_some(),
        Form::Map => black_box(collection.get(id)?.map(|document| document.to_map()).transpose()?).is_some(),
        Form::Typed => black_box(typed.get(id)?).is_some_and(|comment| !comment.author.is_empty()),
    })
}

/// Updates random documents: gets a document, adds 1 to the score and puts the document, atomically
/// ([`Collection::modify`]).
///
/// # Errors
/// Errors of the updates.
pub fn update(database: &Database, collection: &Collection, ids: &[Value], settings: &Settings) -> Result<Outcome> {
    updates("update", database, ids, settings, &|id| {
        let add_one = |draft: &mut alluvium::Draft| {
            let score = draft.get("score")?.as_ref().and_then(Value::as_i64).unwrap_or(0);
            draft.set("score", score + 1)?;
            Ok(true)
        };
        collection.modify(id, add_one).map(|_| ())
    })
}

/// Updates random documents with `{"$inc": {"score": 1}}`, read and checked ([`Collection::update`]).
///
/// # Errors
/// Errors of the updates.
pub fn update_checked(
    database: &Database,
    collection: &Collection,
    ids: &[Value],
    settings: &Settings,
) -> Result<Outcome> {
    let add_one = increment();
    updates("checked update", database, ids, settings, &|id| {
        collection.update_one(Map::from([("_id", id)]), &add_one).run().map(|_| ())
    })
}

/// Updates random documents with `{"$inc": {"score": 1}}`, without reading
/// ([`Collection::update_blind`]).
///
/// # Errors
/// Errors of the updates.
pub fn update_blind(
    database: &Database,
    collection: &Collection,
    ids: &[Value],
    settings: &Settings,
) -> Result<Outcome> {
    let add_one = increment();
    updates("blind update", database, ids, settings, &|id| collection.update_blind(id, &add_one))
}

/// The updates of one transaction, of [`update_in_transactions`] and of [`super::peers::documents`].
pub const IN_A_TRANSACTION: usize = 10;

/// As [`update_checked`], [`IN_A_TRANSACTION`] updates in each transaction. An operation is a transaction; the count of
/// puts is that of the updates.
///
/// # Errors
/// Errors of the transactions.
pub fn update_in_transactions(
    database: &Database,
    collection: &Collection,
    ids: &[Value],
    settings: &Settings,
) -> Result<Outcome> {
    let (add_one, clock) = (increment(), alluvium_env::Env::os().clock);
    run(&plan("transaction of updates", settings), &clock, &state(database), &|worker| {
        let mut random = fastrand::Rng::with_seed(settings.seed + worker.index as u64);
        while worker.goes_on() {
            let chosen: Vec<&Value> = (0..IN_A_TRANSACTION).map(|_| &ids[random.usize(0..ids.len())]).collect();
            worker.timed(|| {
                database.transaction(|transaction| {
                    let inside = transaction.within(collection);
                    chosen.iter().try_for_each(|id| {
                        inside.update_one(Map::from([("_id", (*id).clone())]), &add_one).run().map(|_| ())
                    })
                })
            })?;
            chosen.iter().for_each(|_| Counters::add(&worker.counters.put));
        }
        Ok(())
    })
}

pub(super) fn increment() -> Map {
    let score: Map = [("score", Value::Int64(1))].into_iter().collect();
    [("$inc", Value::Map(score))].into_iter().collect()
}

fn updates(
    name: &str,
    database: &Database,
    ids: &[Value],
    settings: &Settings,
    step: &(dyn Fn(Value) -> Result<()> + Sync),
) -> Result<Outcome> {
    let clock = alluvium_env::Env::os().clock;
    run(&plan(name, settings), &clock, &state(database), &|worker| {
        let mut random = fastrand::Rng::with_seed(settings.seed + worker.index as u64);
        while worker.goes_on() {
            let id = ids[random.usize(0..ids.len())].clone();
            worker.timed(|| step(id))?;
            Counters::add(&worker.counters.put);
        }
        Ok(())
    })
}

fn plan(name: &str, settings: &Settings) -> Plan {
    Plan {
        name: name.to_owned(),
        threads: settings.threads,
        duration: settings.duration,
        operations: settings.operations,
    }
}

pub(super) fn state(database: &Database) -> impl Fn() -> (u64, f64) + Sync + '_ {
    || {
        let stats = database.stats();
        (stats.disk_bytes, stats.debt)
    }
}

#[cfg(test)]
mod tests;

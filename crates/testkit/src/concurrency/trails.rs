//! Concurrent threads, each of which leaves a trail: documents that always show its progress.
//!
//! Writer `t` at count `c` has written: [`COUNTERS`] documents that all contain `c`, spread over the partitions and two
//! collections; one document for each of its last [`WINDOW`] counts; and two sums that deltas have increased to `c`,
//! one of them in an index. Each count is written in one batch. At any time, in every snapshot and after every kill,
//! the documents of a writer are therefore exactly those of one count. One additional client, [`SINGLE`], counts by
//! single writes, in each possible way.

use crate::model::map_of;
use alluvium::{CollectionAt, Database, Document, Map, Snapshot, Value, WriteBatch};

/// The number of documents that contain a writer's count.
pub const COUNTERS: u64 = 5;
/// The number of documents of past counts that are kept.
pub const WINDOW: u64 = 300;
const COLLECTIONS: [&str; 2] = ["main.counts", "other.counts"];
const TRAIL: &str = "main.trail";
/// The collections of the sums. Indexes may depend on the sums in the second one.
const SUMS: [&str; 2] = ["main.counts", "other.sums"];
/// A sum is rewritten after this number of deltas.
const DELTAS: u64 = 40;
/// The collection of the client of single writes.
const SINGLES: &str = "main.singles";
/// The `_id` of the document of that client.
pub const SINGLE: &str = "single";
/// Indexes on the documents of writers, with their collections. Each can be built at any time.
pub const INDEXES: [(&str, &str); 6] = [
    ("main.counts", r#"{"count":1}"#),
    ("other.counts", r#"{"list":1,"count":-1}"#),
    ("main.trail", r#"{"writer":1,"count":1}"#),
    ("main.trail", r#"{"words":"hashed"}"#),
    ("other.sums", r#"{"sum":1}"#),
    ("main.singles", r#"{"n":1}"#),
];

/// The `_id` of a counter, alternately a number and a string.
fn counter_id(writer: u64, at: u64) -> String {
    format!("writer-{writer}-counter-{at}")
}

fn trail_id(writer: u64, count: u64) -> i64 {
    (writer * 1_000_000_000 + count) as i64
}

/// The document of a counter. Its shape and size change with the count.
fn counter(count: u64, at: u64) -> Map {
    let pad = "x".repeat((count * 7 + at * 3) as usize % 60);
    match (count + at) % 3 {
        0 => map_of(&format!(r#"{{"count":{count},"pad":"{pad}"}}"#)),
        1 => map_of(&format!(r#"{{"count":{count},"nested":{{"at":{at},"pad":"{pad}"}}}}"#)),
        _ => map_of(&format!(r#"{{"pad":"{pad}","count":{count},"list":[{at},"{pad}"]}}"#)),
    }
}

fn trail(writer: u64, count: u64) -> Map {
    let words = "some words ".repeat(count as usize % 9);
    match count % 50 {
        0 => map_of(&format!(r#"{{"writer":{writer},"count":{count},"odd-{}":"{words}"}}"#, count / 50)),
        _ => map_of(&format!(r#"{{"writer":{writer},"count":{count},"words":"{words}"}}"#)),
    }
}

fn sum_id(writer: u64) -> String {
    format!("writer-{writer}-sum")
}

/// The count at which the sum was last rewritten; deltas have increased it to `count` since then.
fn sum_base(count: u64) -> u64 {
    count - count.saturating_sub(1) % DELTAS
}

/// The document of a sum after its last rewrite and the deltas.
fn sum(writer: u64, count: u64) -> Map {
    let (id, base) = (sum_id(writer), sum_base(count));
    match count - base {
        0 => map_of(&format!(r#"{{"_id":"{id}","sum":{count},"base":{base}}}"#)),
        deltas => map_of(&format!(r#"{{"_id":"{id}","sum":{count},"base":{base},"deltas":{deltas},"last":{count}}}"#)),
    }
}

/// The batch that advances a writer to `count` from the previous count.
pub fn batch(db: &Database, writer: u64, count: u64) -> alluvium::Result<WriteBatch> {
    let mut batch = db.write_batch();
    for at in 0..COUNTERS {
        let collection = db.collection(COLLECTIONS[at as usize % 2]);
        batch.put(&collection, counter_id(writer, at), counter(count, at))?;
    }
    for name in SUMS {
        let collection = db.collection(name);
        match sum_base(count) == count {
            true => batch.put(&collection, sum_id(writer), sum(writer, count))?,
            false => {
                let delta = format!(r#"{{"$inc":{{"sum":1,"deltas":1}},"$set":{{"last":{count}}}}}"#);
                batch.update_blind(&collection, sum_id(writer), delta.as_str())?;
            }
        }
    }
    let collection = db.collection(TRAIL);
    if count.is_multiple_of(2) {
        batch.put(&collection, trail_id(writer, count), trail(writer, count))?;
    } else {
        let mut map = trail(writer, count);
        map.entries.insert(0, ("_id".into(), trail_id(writer, count).into()));
        batch.insert(&collection, map)?;
    }
    if count > WINDOW {
        batch.delete(&collection, trail_id(writer, count - WINDOW))?;
    }
    Ok(batch)
}

/// Advances the client of single writes to `count` from the previous count, in one of the possible
/// ways to change a document.
///
/// # Errors
/// Errors of the write. The inner result is an error if the document was not as expected.
pub fn single(db: &Database, count: u64) -> alluvium::Result<Result<(), Broken>> {
    let singles = db.collection(SINGLES);
    let add = r#"{"$inc":{"n":1}}"#;
    let was = |found: Option<Document>| found.and_then(|document| n_of(&document));
    let before = match count {
        1 => singles.update_one(Map::from([("_id", Value::from(SINGLE))]), add).upsert(true).run().map(|_| None)?,
        _ => match count % 5 {
            0 => singles.update_blind(SINGLE, add).map(|()| Some(count - 1))?,
            1 => singles
                .update_one(Map::from([("_id", Value::from(SINGLE))]), add)
                .run()
                .map(|done| (done.modified_count == 1).then_some(count - 1))?,
            2 => was(singles
                .find_one_and_update(Map::from([("_id", Value::from(SINGLE))]), add)
                .return_document(alluvium::ReturnDocument::Before)
                .run()?),
            3 => singles.put(SINGLE, format!(r#"{{"n":{count}}}"#).as_str()).map(|()| Some(count - 1))?,
            _ => match singles.get_versioned(SINGLE)? {
                Some((found, version)) => {
                    let next = format!(r#"{{"n":{count}}}"#);
                    let done = singles.replace_if(SINGLE, version, next.as_str())?;
                    n_of(&found).filter(|_| done)
                }
                None => None,
            },
        },
    };
    let after = was(singles.get(SINGLE)?);
    let fine = (before, after) == ((count > 1).then(|| count - 1), Some(count));
    Ok(if fine { Ok(()) } else { Err(format!("single write {count}: {before:?} before and {after:?} after it")) })
}

fn n_of(document: &Document) -> Option<u64> {
    document.to_map().ok()?.get("n")?.as_i64().map(|n| n as u64)
}

/// A description of an inconsistency in the documents of a writer.
pub type Broken = String;

/// The count in a counter; 0 if it is missing.
fn count_in(found: alluvium::Result<Option<Document>>, writer: u64, at: u64) -> Result<u64, Broken> {
    let id = counter_id(writer, at);
    let found = found.map_err(|e| format!("{id}: {e}"))?;
    let Some(document) = found else { return Ok(0) };
    let map = document.to_map().map_err(|e| format!("{id}: {e}"))?;
    let count = map.get("count").and_then(alluvium::Value::as_i64).unwrap_or(-1);
    let mut expected = counter(count as u64, at);
    expected.entries.insert(0, ("_id".into(), id.as_str().into()));
    if map != expected {
        return Err(format!("{id} is {map:?}"));
    }
    Ok(count as u64)
}

/// Reads a writer's counters one after the other without a snapshot. If one counter shows a batch, all counters that
/// are read later must show it, too.
///
/// # Errors
/// A description of the inconsistency.
pub fn never_back(db: &Database, writer: u64) -> Result<(), Broken> {
    let mut before = 0;
    for at in 0..COUNTERS {
        let found = db.collection(COLLECTIONS[at as usize % 2]).get(counter_id(writer, at));
        let count = count_in(found, writer, at)?;
        if count < before {
            return Err(format!(
                "writer {writer}: counter {at} says {count}, and one that was read before said {before}"
            ));
        }
        before = count;
    }
    Ok(())
}

/// The three collections at one snapshot.
pub struct TrailView {
    counts: Vec<CollectionAt>,
    sums: Vec<CollectionAt>,
    trail: CollectionAt,
    singles: CollectionAt,
}

impl TrailView {
    /// The collections at a snapshot.
    pub fn at(db: &Database, snapshot: &Snapshot) -> Self {
        let at = |name: &str| db.collection(name).at(snapshot);
        let all = |names: &[&str]| names.iter().map(|name| at(name)).collect();
        Self { counts: all(&COLLECTIONS), sums: all(&SUMS), trail: at(TRAIL), singles: at(SINGLES) }
    }

    /// The count of the client of single writes; 0 if its document is missing.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn single(&self) -> Result<u64, Broken> {
        match self.singles.get(SINGLE) {
            Err(e) => Err(format!("{SINGLE}: {e}")),
            Ok(None) => Ok(0),
            Ok(Some(found)) => n_of(&found).ok_or_else(|| format!("{SINGLE} has no number")),
        }
    }

    /// Checks that a writer's sums equal its count.
    fn check_sums(&self, writer: u64, count: u64) -> Result<(), Broken> {
        for (name, collection) in SUMS.iter().zip(&self.sums) {
            let found = collection.get(sum_id(writer)).map_err(|e| format!("a sum of {name}: {e}"))?;
            let found = found.map(|document| document.to_map()).transpose().map_err(|e| format!("a sum: {e}"))?;
            let fine = match &found {
                Some(map) => *map == sum(writer, count),
                None => count == 0,
            };
            if !fine {
                return Err(format!("writer {writer} at {count}: its sum in {name} is {found:?}"));
            }
        }
        Ok(())
    }

    /// The count in one of a writer's counters; 0 if the counter is missing.
    fn count_of(&self, writer: u64, at: u64) -> Result<u64, Broken> {
        count_in(self.counts[at as usize % 2].get(counter_id(writer, at)), writer, at)
    }

    /// A writer's count according to its counters, which must all be equal.
    pub fn counters(&self, writer: u64) -> Result<u64, Broken> {
        let count = self.count_of(writer, 0)?;
        for at in 1..COUNTERS {
            let other = self.count_of(writer, at)?;
            if other != count {
                return Err(format!("writer {writer}: counter 0 says {count}, counter {at} says {other}"));
            }
        }
        self.check_sums(writer, count)?;
        Ok(count)
    }

    /// A writer's count according to all its documents, which must agree.
    pub fn whole(&self, writer: u64, reverse: bool) -> Result<u64, Broken> {
        let count = self.counters(writer)?;
        let scan = self.trail.scan().from(trail_id(writer, 0)).to(trail_id(writer + 1, 0));
        let scan = if reverse { scan.reverse() } else { scan };
        let found = scan.run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>);
        let found = found.map_err(|e| format!("writer {writer}: {e}"))?;
        let first = if count > WINDOW { count - WINDOW + 1 } else { 1 };
        let mut expected: Vec<u64> = (first..=count).collect();
        if reverse {
            expected.reverse();
        }
        let ids: Vec<Option<i64>> = found.iter().map(|d| d.id().as_i64()).collect();
        let wanted: Vec<Option<i64>> = expected.iter().map(|c| Some(trail_id(writer, *c))).collect();
        if ids != wanted {
            let extra: Vec<_> = ids.iter().filter(|id| !wanted.contains(id)).take(5).collect();
            let lost: Vec<_> = wanted.iter().filter(|id| !ids.contains(id)).take(5).collect();
            return Err(format!(
                "writer {writer} at {count}: the trail has {} documents, not {}; not expected {extra:?}, missing {lost:?}",
                ids.len(),
                wanted.len()
            ));
        }
        for (count, document) in expected.iter().zip(&found) {
            let map = document.to_map().map_err(|e| format!("writer {writer}: {e}"))?;
            let mut wanted = trail(writer, *count);
            wanted.entries.insert(0, ("_id".into(), document.id().clone()));
            if map != wanted {
                return Err(format!("writer {writer}: the document of {count} is {map:?}"));
            }
        }
        Ok(count)
    }
}

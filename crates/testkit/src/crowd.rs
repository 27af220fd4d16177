//! Many threads at once, each of which leaves a trail that shows at any moment how far it is.
//!
//! Writer `t` at count `c` has written: [`COUNTERS`] documents that all say `c`, spread over the
//! partitions and two collections, and one document for each of its last [`WINDOW`] counts. All
//! of it changes in one batch, so at every moment, in every snapshot and after every kill, what
//! is found of a writer is exactly what one count says.

use crate::documents::map_of;
use alluvium::{CollectionAt, Database, Document, Map, Snapshot, WriteBatch};

/// Documents that hold a writer's count.
pub const COUNTERS: u64 = 5;
/// Documents of past counts that are kept.
pub const WINDOW: u64 = 300;
const COLLECTIONS: [&str; 2] = ["main.counts", "other.counts"];
const TRAIL: &str = "main.trail";
/// Indexes over what writers leave, by collections. Every one of them can be built at any time.
pub const INDEXES: [(&str, &str); 4] = [
    ("main.counts", r#"{"count":1}"#),
    ("other.counts", r#"{"list":1,"count":-1}"#),
    ("main.trail", r#"{"writer":1,"count":1}"#),
    ("main.trail", r#"{"words":"hashed"}"#),
];

/// The `_id` of a counter. Numbers and text take turns.
fn counter_id(writer: u64, at: u64) -> String {
    format!("writer-{writer}-counter-{at}")
}

fn trail_id(writer: u64, count: u64) -> i64 {
    (writer * 1_000_000_000 + count) as i64
}

/// The document of a counter. Its shape changes with the count, and so does its size.
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

/// The batch that takes a writer to `count`, from the one before.
pub fn batch(db: &Database, writer: u64, count: u64) -> alluvium::Result<WriteBatch> {
    let mut batch = db.write_batch();
    for at in 0..COUNTERS {
        let collection = db.collection(COLLECTIONS[at as usize % 2]);
        batch.put(&collection, counter_id(writer, at), counter(count, at))?;
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

/// What is found of a writer that is broken.
pub type Broken = String;

/// The three collections at one moment.
pub struct Look {
    counts: Vec<CollectionAt>,
    trail: CollectionAt,
}

impl Look {
    /// At a snapshot.
    pub fn at(db: &Database, snapshot: &Snapshot) -> Self {
        let at = |name: &str| db.collection(name).at(snapshot);
        Self { counts: COLLECTIONS.iter().map(|name| at(name)).collect(), trail: at(TRAIL) }
    }

    /// A writer's count by one of its counters; 0 if there is none.
    fn count_of(&self, writer: u64, at: u64) -> Result<u64, Broken> {
        let id = counter_id(writer, at);
        let found = match self.counts[at as usize % 2].get(id.as_str()) {
            Err(e) if e.kind() == alluvium::ErrorKind::Namespace => return Ok(0),
            other => other.map_err(|e| format!("{id}: {e}"))?,
        };
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

    /// A writer's count, by its counters alone. They must agree.
    pub fn counters(&self, writer: u64) -> Result<u64, Broken> {
        let count = self.count_of(writer, 0)?;
        for at in 1..COUNTERS {
            let other = self.count_of(writer, at)?;
            if other != count {
                return Err(format!("writer {writer}: counter 0 says {count}, counter {at} says {other}"));
            }
        }
        Ok(count)
    }

    /// A writer's count, by all that it has written. All must agree.
    pub fn whole(&self, writer: u64, reverse: bool) -> Result<u64, Broken> {
        let count = self.counters(writer)?;
        let scan = self.trail.scan().from(trail_id(writer, 0)).to(trail_id(writer + 1, 0));
        let scan = if reverse { scan.reverse() } else { scan };
        let found = match scan.run().and_then(Iterator::collect::<alluvium::Result<Vec<Document>>>) {
            Err(e) if e.kind() == alluvium::ErrorKind::Namespace => Vec::new(),
            other => other.map_err(|e| format!("writer {writer}: {e}"))?,
        };
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

//! Alluvium: its documents, and its key/value store alone.

use super::{Change, DocumentSession, Documents, Failure, Found, KeyValueSession, KeyValues, Stripes};
use alluvium::{Collection, Database, Durability, Map, Value};
use alluvium_store::{Options, Store, TreeId};
use std::path::Path;

/// The name of the collection of comments.
const COMMENTS: &str = "comments";

/// The options of a store with this memory budget. Writes have the same durability as with the
/// peers: the log is written, and no write waits for a sync.
fn options(memory_bytes: u64) -> Result<Options, Failure> {
    let memory_bytes = usize::try_from(memory_bytes)?;
    Ok(Options { memory_bytes, durability: Durability::Bulk, ..Options::default() })
}

/// A database at `path`, which is created if it does not exist.
///
/// # Errors
/// Errors of opening.
pub fn documents(path: &Path, memory_bytes: u64) -> Result<Box<dyn Documents>, Failure> {
    let database = Database::builder().options(options(memory_bytes)?).open(path)?;
    let comments = database.collection(COMMENTS);
    Ok(Box::new(OurDocuments { database, comments }))
}

/// A key/value store at `path`, which is created if it does not exist.
///
/// # Errors
/// Errors of opening.
pub fn key_values(path: &Path, memory_bytes: u64) -> Result<Box<dyn KeyValues>, Failure> {
    Ok(Box::new(Pairs::open(path, options(memory_bytes)?)?))
}

struct OurDocuments {
    database: Database,
    comments: Collection,
}

impl Documents for OurDocuments {
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure> {
        let increment = Map::from([("$inc", Value::Map(Map::from([("score", Value::Int64(1))])))]);
        Ok(Box::new(OurSession { database: &self.database, comments: &self.comments, increment }))
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(self.database.wait_for_compaction()?)
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(self.database.close()?)
    }
}

struct OurSession<'a> {
    database: &'a Database,
    comments: &'a Collection,
    /// `{"$inc": {"score": 1}}`
    increment: Map,
}

impl DocumentSession for OurSession<'_> {
    fn put(&mut self, id: &str, json: &str) -> Result<(), Failure> {
        Ok(self.comments.put(id, json)?)
    }

    fn get(&mut self, id: &str) -> Result<Option<Found>, Failure> {
        let Some(document) = self.comments.get(id)? else { return Ok(None) };
        found(&document.to_map()?).map(Some)
    }

    fn score(&mut self, id: &str) -> Result<Option<i64>, Failure> {
        let Some(document) = self.comments.get(id)? else { return Ok(None) };
        let score = document.get("score")?.map(|score| score.to_value()).transpose()?;
        score.as_ref().and_then(Value::as_i64).ok_or_else(no_score).map(Some)
    }

    fn increment(&mut self, id: &str) -> Result<bool, Failure> {
        Ok(increment(self.comments, id, &self.increment)?)
    }

    fn increment_all(&mut self, ids: &[&str]) -> Result<Option<bool>, Failure> {
        let all = self.database.transaction(|transaction| {
            let inside = transaction.within(self.comments);
            for id in ids {
                if !increment(&inside, id, &self.increment)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(Some(all))
    }
}

/// Runs this update of one document. Returns false if the document does not exist.
fn increment(comments: &Collection, id: &str, increment: &Map) -> alluvium::Result<bool> {
    Ok(comments.update_one(Map::from([("_id", id)]), increment).run()?.matched_count == 1)
}

/// The fields of a document that the harness checks.
///
/// # Errors
/// A document without `_id` or `score`.
pub fn found(map: &Map) -> Result<Found, Failure> {
    let id = map.get("_id").and_then(Value::as_str).ok_or("a document has no _id")?;
    let score = map.get("score").and_then(Value::as_i64).ok_or_else(no_score)?;
    Ok(Found { id: id.to_owned(), score, fields: map.len() })
}

fn no_score() -> Failure {
    "a document has no score".into()
}

/// One tree of the key/value store.
pub(crate) struct Pairs {
    store: Store,
    tree: TreeId,
    durability: Durability,
    locks: Stripes,
}

impl Pairs {
    /// Opens the store at `path`, and creates it and its tree if they do not exist.
    pub fn open(path: &Path, options: Options) -> alluvium_store::Result<Self> {
        let durability = options.durability;
        let store = Store::open(alluvium_env::Env::os(), path, options)?;
        let tree = match store.trees().first() {
            Some((tree, _)) => *tree,
            None => store.create_trees(&[b"kv"])?[0],
        };
        Ok(Self { store, tree, durability, locks: Stripes::default() })
    }

    /// The bytes of all files, and the compaction debt from 0 to 1.
    pub fn state(&self) -> (u64, f64) {
        let stats = self.store.stats();
        (stats.disk_bytes, stats.debt)
    }
}

impl<E: From<alluvium_store::Error>> KeyValues<E> for Pairs {
    fn session(&self) -> Result<Box<dyn KeyValueSession<E> + '_>, E> {
        Ok(Box::new(PairSession(self)))
    }

    fn settle(&self) -> Result<(), E> {
        Ok(self.store.wait_for_compaction()?)
    }

    fn close(self: Box<Self>) -> Result<(), E> {
        Ok(self.store.close()?)
    }
}

struct PairSession<'a>(&'a Pairs);

impl<E: From<alluvium_store::Error>> KeyValueSession<E> for PairSession<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), E> {
        let mut batch = self.0.store.batch();
        batch.put(self.0.tree, key, value);
        self.0.store.write(batch, self.0.durability)?;
        Ok(())
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, E> {
        Ok(self.0.store.get(self.0.tree, key, value)?)
    }

    /// Looks up the key first, because a delete does not return whether the key existed.
    fn delete(&mut self, key: &[u8]) -> Result<bool, E> {
        let found = self.0.store.contains(self.0.tree, key)?;
        let mut batch = self.0.store.batch();
        batch.delete(self.0.tree, key);
        self.0.store.write(batch, self.0.durability)?;
        Ok(found)
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_, E>) -> Result<bool, E> {
        let pairs = self.0;
        pairs.locks.with(key, || {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            if !pairs.store.get(pairs.tree, key, &mut old)? {
                return Ok(false);
            }
            change(&old, &mut new)?;
            self.put(key, &new).map(|()| true)
        })
    }
}

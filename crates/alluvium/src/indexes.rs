//! The indexes of a collection, as its users see them.

mod stats;

pub use stats::IndexStats;
pub(crate) use stats::stale_share;

use crate::error::id_text;
use crate::find::{Hint, Moment};
use crate::index::scan::IndexScan;
use crate::index::{self, Build, Index, IndexProgress};
use crate::{Collection, Error, IntoDocument, Result, Snapshot};
use alluvium_document::compare::equal;
use alluvium_document::{Map, Value};
use alluvium_query::index::Definition;
use alluvium_store::Bounds;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

impl Collection {
    /// Makes an index, and waits until it is ready: `{"author": 1, "time": -1}`. Returns its name, `author_1_time_-1`. The
    /// collection is created if it does not exist. Others read and write meanwhile; once there, the index is kept by every
    /// write. If the same index is there already, nothing happens.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog", "age": 3}"#)?;
    /// assert_eq!(pets.create_index(r#"{"kind": 1, "age": -1}"#)?, "kind_1_age_-1");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Index`] if the definition is wrong, or a document cannot be indexed;
    /// [`crate::Error::IndexConflict`]; as for any read and write.
    pub fn create_index(&self, keys: impl IntoDocument) -> Result<String> {
        self.create_index_with(keys, Map::new())
    }

    /// As [`Collection::create_index`], with options: `name`, `unique`, `sparse`, `partialFilterExpression`,
    /// `expireAfterSeconds`, as MongoDB has them.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index_with(r#"{"chip": 1}"#, r#"{"unique": true, "sparse": true}"#)?;
    /// pets.put("rex", r#"{"chip": 17}"#)?;
    /// let error = pets.put("tom", r#"{"chip": 17}"#).unwrap_err();
    /// assert_eq!(error.kind(), alluvium::ErrorKind::DuplicateKey);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::create_index`]; [`crate::Error::DuplicateIndexKey`] if documents have the same key in a unique
    /// index: it is dropped again.
    pub fn create_index_with(&self, keys: impl IntoDocument, options: impl IntoDocument) -> Result<String> {
        self.start_index(keys, options)?.finish()
    }

    /// Declares an index and returns at once: from now on every write keeps it. [`IndexBuild::finish`] builds it over the
    /// documents that are there. If that is not called, the database does it when it is opened the next time.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let build = pets.start_index(r#"{"kind": 1}"#, "{}")?;
    /// let progress = build.progress(); // To be looked at from another thread.
    /// build.finish()?;
    /// assert_eq!(progress.documents(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::create_index`].
    pub fn start_index(&self, keys: impl IntoDocument, options: impl IntoDocument) -> Result<IndexBuild> {
        let (keys, options) = (keys.into_map()?, options.into_map()?);
        if Definition::is_on_id(&keys, &options)? {
            self.open_or_create()?;
            return Ok(IndexBuild { collection: self.clone(), index: None, added: false, stop: None });
        }
        let definition = Definition::parse(&keys, &options)?;
        self.open_or_create()?;
        let (index, added) = self.database.inner.catalog.add_index(self.store(), self.name()?, definition)?;
        Ok(IndexBuild { collection: self.clone(), index: Some(index), added, stop: None })
    }

    /// Drops an index by its name or its keys, at once; its space is given back in the background.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// let name = pets.create_index(r#"{"kind": 1}"#)?;
    /// pets.drop_index(&name)?;
    /// assert!(pets.drop_index(r#"{"kind": 1}"#).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::index_name`]; [`crate::IndexError::CannotDropId`]; as for any write.
    pub fn drop_index(&self, index: impl Into<Hint>) -> Result<()> {
        self.store().check_writable()?;
        let name = self.index_name(index)?;
        if name == ID_INDEX {
            return Err(alluvium_query::index::IndexError::CannotDropId.into());
        }
        self.database.inner.catalog.drop_indexes(self.store(), self.name()?, Some(&name))
    }

    /// The name of the index that has this name, or these keys.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// let pets = db.collection("pets");
    /// pets.create_index_with(r#"{"kind": 1, "age": -1}"#, r#"{"name": "by_kind"}"#)?;
    /// assert_eq!(pets.index_name(r#"{"kind": 1, "age": -1}"#)?, "by_kind");
    /// assert!(pets.index_name(r#"{"kind": 1}"#).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchIndex`], [`crate::Error::NoSuchCollection`]; [`crate::Error::AmbiguousKeys`] if several indexes
    /// have these keys; [`crate::Error::Json`].
    pub fn index_name(&self, index: impl Into<Hint>) -> Result<String> {
        let set = self.open()?.indexes();
        let keys = match index.into().0 {
            // A name may begin as keys do.
            Value::String(name) if name == ID_INDEX || set.find(&name).is_some() => return Ok(name),
            Value::String(text) if text.trim_start().starts_with('{') => text.as_str().into_map()?,
            Value::Map(keys) => keys,
            other => return Err(self.no_such_index(other.as_str().unwrap_or_default())),
        };
        let all = set.indexes.iter().map(|index| (index.definition.name(), index.definition.keys_map()));
        let all = std::iter::once((ID_INDEX, Map::from([("_id", Value::from(1))]))).chain(all);
        let names: Vec<&str> = all.filter(|(_, known)| same_keys(known, &keys)).map(|(name, _)| name).collect();
        let shown = || id_text(&Value::Map(keys.clone()));
        match names[..] {
            [] => Err(self.no_such_index(&shown())),
            [name] => Ok(name.to_owned()),
            _ => Err(Error::AmbiguousKeys { collection: self.full_name()?, keys: shown(), names: names.join(", ") }),
        }
    }

    fn no_such_index(&self, index: &str) -> Error {
        match self.full_name() {
            Ok(collection) => Error::NoSuchIndex { collection, index: index.to_owned() },
            Err(error) => error,
        }
    }

    /// Drops all indexes but that on `_id`.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
    /// pets.drop_indexes()?;
    /// assert_eq!(pets.indexes()?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::drop_index`], but for the name.
    pub fn drop_indexes(&self) -> Result<()> {
        self.database.inner.catalog.drop_indexes(self.store(), self.name()?, None)
    }

    /// The indexes, as MongoDB's `listIndexes` shows them; that on `_id` comes first.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
    /// let names: Vec<String> = pets.indexes()?.into_iter().map(|index| index.name).collect();
    /// assert_eq!(names, ["_id_", "kind_1"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`].
    pub fn indexes(&self) -> Result<Vec<IndexInfo>> {
        let id = IndexInfo { name: "_id_".to_owned(), definition: id_definition(), ready: true };
        let set = self.open()?.indexes();
        let others = set.indexes.iter().map(|index| IndexInfo {
            name: index.definition.name().to_owned(),
            definition: index.definition.to_map(),
            ready: index.ready.is_some(),
        });
        Ok(std::iter::once(id).chain(others).collect())
    }
}

impl Collection {
    /// The keys of all entries of an index that are proved at a snapshot, each with the key of its `_id`, in their order; with
    /// `raw`, also those that are not proved. For tests and tools.
    ///
    /// # Errors
    /// As for any read; [`crate::Error::NoSuchIndex`], also if the index is not ready at the snapshot.
    #[doc(hidden)]
    pub fn index_entries(&self, snapshot: &Snapshot, index: &str, raw: bool) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (open, name) = (self.open()?, self.name()?);
        let found = self.index(index)?;
        if !found.serves(snapshot) && !raw {
            return Err(Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() });
        }
        let index = found;
        let mut found = Vec::new();
        let moment = Moment::new(self, open, snapshot.clone())?;
        let mut scan = IndexScan::new(moment, index, Bounds::all())?;
        while if raw { scan.advance()? } else { scan.next_entry()? } {
            found.push((scan.key().to_vec(), scan.id().to_vec()));
        }
        Ok(found)
    }
}

/// The index that every collection has.
const ID_INDEX: &str = "_id_";

/// True if these are the same paths in one order, each with the same order.
fn same_keys(a: &Map, b: &Map) -> bool {
    let same = |(a, b): (&(Value, Value), &(Value, Value))| a.0 == b.0 && equal(&a.1, &b.1);
    a.len() == b.len() && a.entries.iter().zip(&b.entries).all(same)
}

/// Refuses what no index can be: to be asked before a database is created for it.
///
/// ```
/// assert!(alluvium::check_index(r#"{"age": 1}"#, "{}").is_ok());
/// assert!(alluvium::check_index(r#"{"age": 5, "place": "2d"}"#, "{}").is_err());
/// ```
///
/// # Errors
/// [`crate::Error::Index`], [`crate::Error::Json`].
pub fn check_index(keys: impl IntoDocument, options: impl IntoDocument) -> Result<()> {
    let (keys, options) = (keys.into_map()?, options.into_map()?);
    match Definition::is_on_id(&keys, &options)? {
        true => Ok(()),
        false => Ok(Definition::parse(&keys, &options).map(drop)?),
    }
}

/// An index key, the key of the document's `_id`, and the values of the parts, `None` for what is missing.
type ShownEntry = (Vec<u8>, Vec<u8>, Vec<Option<Value>>);

/// The definition of the index on `_id`, which every collection has.
pub(crate) fn id_definition() -> Map {
    let mut id = Map::new();
    id.push("v", 2);
    id.push("key", Map::from([("_id", Value::from(1))]));
    id.push("name", "_id_");
    id
}

impl Collection {
    /// What sorted files hold of an index. For tests and tools.
    ///
    /// # Errors
    /// As for any read; [`crate::Error::NoSuchIndex`].
    #[doc(hidden)]
    pub fn index_size(&self, index: &str) -> Result<alluvium_store::TreeStats> {
        Ok(self.store().tree_stats(self.index(index)?.tree)?)
    }

    /// The proved entries of an index at a snapshot with the values of their parts, in their order; with `fetch`, proved by
    /// their documents and not by numbers where these do. For tests and tools.
    ///
    /// # Errors
    /// As [`Collection::index_entries`].
    #[doc(hidden)]
    pub fn index_shown(&self, at: &Snapshot, index: &str, fetch: bool) -> Result<Vec<ShownEntry>> {
        let (open, index) = (self.open()?, self.index(index)?);
        let mut scan = IndexScan::new(Moment::new(self, open, at.clone())?, index, Bounds::all())?;
        let mut found = Vec::new();
        while if fetch { scan.next_document()?.is_some() } else { scan.next_entry()? } {
            found.push((scan.key().to_vec(), scan.id().to_vec(), scan.values()?));
        }
        Ok(found)
    }

    /// Walks proved entries of an index from the first key of `from` on; with `fetch`, with their documents. How many there
    /// were, up to `limit`. For tests and tools.
    ///
    /// # Errors
    /// As for any read; [`crate::Error::NoSuchIndex`].
    #[doc(hidden)]
    pub fn index_walk(&self, at: &Snapshot, index: &str, from: &Map, limit: usize, fetch: bool) -> Result<usize> {
        let index = self.index(index)?;
        let first = index.keys(from, &[])?.keys.into_iter().next().map(|key| key.bytes);
        let lower = first.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Included);
        let mut scan =
            IndexScan::new(Moment::new(self, self.open()?, at.clone())?, index, Bounds { lower, ..Bounds::all() })?;
        let mut found = 0;
        while found < limit && if fetch { scan.next_document()?.is_some() } else { scan.next_entry()? } {
            found += 1;
        }
        Ok(found)
    }

    fn index(&self, index: &str) -> Result<Arc<Index>> {
        let found = self.open()?.indexes().find(index).cloned();
        let collection = self.full_name()?;
        found.ok_or_else(|| Error::NoSuchIndex { collection, index: index.to_owned() })
    }
}

/// What [`Collection::indexes`] tells of an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// The name.
    pub name: String,
    /// The definition: `v`, `key`, `name` and the options that are set.
    pub definition: Map,
    /// False while it is being built; nobody asks it then.
    pub ready: bool,
}

/// An index that was declared and is to be built.
#[must_use = "the index is not ready before `finish`"]
pub struct IndexBuild {
    collection: Collection,
    /// None for that on `_id`, which is there always.
    index: Option<Arc<Index>>,
    added: bool,
    stop: Option<Arc<AtomicBool>>,
}

impl IndexBuild {
    /// How far the build is, once it goes on, whoever builds.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let build = pets.start_index(r#"{"age": 1}"#, "{}")?;
    /// let progress = build.progress(); // for another thread, while this one builds
    /// build.finish()?;
    /// assert_eq!(progress.documents(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn progress(&self) -> IndexProgress {
        self.index.as_ref().map(|index| index.building.progress().clone()).unwrap_or_default()
    }

    /// False if the same index was there already.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#)?;
    /// assert!(!pets.start_index(r#"{"age": 1}"#, "{}")?.is_new());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_new(&self) -> bool {
        self.added
    }

    /// Its name.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let build = pets.start_index(r#"{"age": -1}"#, "{}")?;
    /// assert_eq!(build.name(), "age_-1");
    /// # build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn name(&self) -> &str {
        self.index.as_ref().map_or("_id_", |index| index.definition.name())
    }

    /// Set to true by anybody, `stop` ends [`IndexBuild::finish`] with [`crate::Error::Stopped`]. The index stays declared,
    /// every write keeps it, and the build goes on when the database is opened the next time, or when the index is
    /// created again: partitions that are done are not built anew.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // which another thread may set
    /// let build = pets.start_index(r#"{"age": 1}"#, "{}")?.stop_when(stop.clone());
    /// assert_eq!(build.finish()?, "age_1");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Builds the index, or waits for whoever does, and returns its name.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let build = pets.start_index(r#"{"age": 1}"#, r#"{"name": "by_age"}"#)?;
    /// assert_eq!(build.finish()?, "by_age");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::create_index_with`].
    pub fn finish(self) -> Result<String> {
        let name = self.collection.name()?;
        let stop = self.stop.as_deref();
        if let Some(index) = &self.index {
            index::finish(&Build { db: &self.collection.database, name, index, stop })?;
        }
        Ok(self.name().to_owned())
    }
}

//! Creation of indexes.

use crate::target::Target;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::index::IndexProgress;
use alluvium_collections::indexes::{self, DeclaredIndex};
use alluvium_collections::limits::Limits;
use alluvium_collections::names::FullName;
use alluvium_document::{InputError, IntoDocument, Map, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An index, as returned by [`crate::Collection::indexes`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// The name.
    pub name: String,
    /// The definition in the form of MongoDB's `listIndexes`: version, keys, name, options.
    pub definition: Map,
    /// True if queries may use the index; false while the index is being built.
    pub ready: bool,
    /// False for a text, geographic or wildcard index. The definition of such an index is stored, but the index has no
    /// effect.
    pub is_built: bool,
}

/// An index to create, with its options; returned by [`crate::Collection::create_index`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// let pets = db.collection("pets");
/// pets.put("rex", r#"{"kind": "dog", "chip": 17}"#)?;
/// assert_eq!(pets.create_index(r#"{"kind": 1, "age": -1}"#).run()?, "kind_1_age_-1");
/// assert_eq!(pets.create_index(r#"{"chip": 1}"#).name("chip").unique(true).sparse(true).run()?, "chip");
/// assert!(pets.insert_one(r#"{"chip": 17}"#).is_err(), "the chip is taken");
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
#[must_use = "no index is created until `run` or `start`"]
pub struct CreateIndex {
    target: Target,
    keys: std::result::Result<Map, InputError>,
    options: std::result::Result<Map, InputError>,
    limits: Limits,
    drops: bool,
}

impl CreateIndex {
    pub(crate) fn new(target: Target, keys: impl IntoDocument) -> Self {
        Self { target, keys: keys.into_map(), options: Ok(Map::new()), limits: Limits::default(), drops: false }
    }

    fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Ok(options) = &mut self.options {
            options.insert(name, value);
        }
        self
    }

    /// Sets the name. Default: the keys with their orders, such as `author_1_time_-1`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.option("name", name.into())
    }

    /// Refuses two documents with the same keys. Default: false.
    pub fn unique(self, unique: bool) -> Self {
        self.option("unique", unique)
    }

    /// Omits documents that have none of the indexed fields from the index. Default: false.
    pub fn sparse(self, sparse: bool) -> Self {
        self.option("sparse", sparse)
    }

    /// Indexes only documents that match this filter.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"name": 1}"#).partial_filter(r#"{"age": {"$gt": 5}}"#).unique(true).run()?;
    /// pets.insert_many([r#"{"name": "rex", "age": 1}"#, r#"{"name": "rex", "age": 2}"#])?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn partial_filter(mut self, filter: impl IntoDocument) -> Self {
        match filter.into_map() {
            Ok(filter) => self.option("partialFilterExpression", Value::Map(filter)),
            Err(error) => {
                self.options = self.options.and(Err(error));
                self
            }
        }
    }

    /// Sets the collation, given by MongoDB's options: the index orders strings by the rules of a language. The index
    /// then serves queries with the same collation, and queries that compare no strings. A unique index refuses keys
    /// that are equal under the collation. Default: strings in the order of their bytes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"name": 1}"#).collation(r#"{"locale": "en", "strength": 2}"#).unique(true).run()?;
    /// pets.insert_one(r#"{"name": "Rex"}"#)?;
    /// assert!(pets.insert_one(r#"{"name": "rex"}"#).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collation(mut self, options: impl IntoDocument) -> Self {
        match options.into_map() {
            Ok(options) => self.option("collation", Value::Map(options)),
            Err(error) => {
                self.options = self.options.and(Err(error));
                self
            }
        }
    }

    /// Deletes documents this long after the date in the indexed field. Fractions of a second are
    /// dropped.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let sessions = db.collection("sessions");
    /// sessions.create_index(r#"{"seen": 1}"#).expire_after(std::time::Duration::from_secs(3600)).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn expire_after(self, time: Duration) -> Self {
        self.option("expireAfterSeconds", i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
    }

    /// Sets options from a document with MongoDB's names, such as `{"unique": true}`. An option replaces an option of
    /// the same name that was set before.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// assert_eq!(pets.create_index(r#"{"chip": 1}"#).options(r#"{"unique": true, "name": "chip"}"#).run()?, "chip");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn options(mut self, options: impl IntoDocument) -> Self {
        match (&mut self.options, options.into_map()) {
            (Ok(known), Ok(options)) if known.is_empty() => *known = options,
            (Ok(known), Ok(options)) => options.entries.into_iter().for_each(|(name, value)| {
                known.entries.retain(|(known, _)| *known != name);
                known.entries.push((name, value));
            }),
            (Ok(_), Err(error)) => self.options = Err(error),
            (Err(_), _) => {}
        }
        self
    }

    /// Ends the build with [`crate::Error::Stopped`] when `stop` is set to true. The build
    /// continues when the database is opened again, or by a call with the same arguments.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// let stop = Arc::new(AtomicBool::new(false)); // another thread may set it
    /// pets.create_index(r#"{"age": 1}"#).stop_when(stop.clone()).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.limits.stop = Some(stop);
        self
    }

    /// Ends the build with [`crate::Error::MaxTimeExpired`] if it is not ready within this time from the call of `run`
    /// or `start`. Default: zero, which is no limit.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#).max_time(std::time::Duration::from_secs(60)).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn max_time(mut self, time: Duration) -> Self {
        self.limits.set_max_time(time);
        self
    }

    /// Drops the index if [`CreateIndex::stop_when`] or [`CreateIndex::max_time`] ends its build, unless an earlier
    /// call declared the index. Default: false.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    /// assert!(pets.create_index(r#"{"age": 1}"#).stop_when(stop).drop_when_stopped(true).run().is_err());
    /// assert_eq!(pets.indexes()?.len(), 1, "the index on _id");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn drop_when_stopped(self, drops: bool) -> Self {
        Self { drops, ..self }
    }

    /// Creates the index and waits until it is ready. Returns its name. Creates the collection if
    /// it does not exist. Reads and writes continue during the build. If the same index already
    /// exists, waits until it is ready. In a transaction, the collection must be created by it, too,
    /// and have no documents yet; the commit creates both.
    ///
    /// # Errors
    /// [`crate::Error::Index`] if the definition is not valid, or a document cannot be indexed;
    /// [`crate::Error::IndexConflict`]; [`crate::Error::DuplicateIndexKey`];
    /// [`crate::Error::Stopped`], [`crate::Error::MaxTimeExpired`]; as for any read and write.
    pub fn run(self) -> Result<String> {
        self.start()?.run()
    }

    /// Declares the index, so that every write maintains it, and returns before it is built.
    /// [`IndexBuild::run`] builds it, while other threads may read [`IndexBuild::progress`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let build = pets.create_index(r#"{"kind": 1}"#).start()?;
    /// let progress = build.progress();
    /// build.run()?; // another thread may print `progress.documents()`
    /// assert_eq!(progress.documents(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CreateIndex::run`], without the errors of documents.
    pub fn start(self) -> Result<IndexBuild> {
        let (engine, name) = (&self.target.engine, self.target.name()?);
        let mut limits = self.limits;
        limits.begin(&engine.env);
        let (keys, options) = (self.keys?, self.options?);
        let declared = match self.target.transaction() {
            None => indexes::declare(engine, name, &keys, &options)?,
            Some(transaction) => indexes::declare_in(transaction, name, &keys, &options)?,
        };
        Ok(IndexBuild { engine: engine.clone(), name: name.clone(), declared, limits, drops: self.drops })
    }
}

/// An index that is declared but not ready; returned by [`CreateIndex::start`]. If
/// [`IndexBuild::run`] is not called, the index is built when the database is opened next.
#[must_use = "the index is not ready before `run`"]
pub struct IndexBuild {
    engine: EngineHandle,
    name: FullName,
    declared: DeclaredIndex,
    limits: Limits,
    drops: bool,
}

impl IndexBuild {
    /// The progress of the build, which other threads may read during [`IndexBuild::run`].
    pub fn progress(&self) -> IndexProgress {
        self.declared.progress()
    }

    /// False if the same index already existed.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// assert!(!pets.create_index(r#"{"age": 1}"#).start()?.is_new());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn is_new(&self) -> bool {
        self.declared.is_new()
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        self.declared.name()
    }

    /// As [`CreateIndex::stop_when`], for an index that is already declared.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # let stop = std::sync::Arc::default();
    /// let build = pets.create_index(r#"{"age": 1}"#).start()?;
    /// build.stop_when(stop).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.limits.stop = Some(stop);
        self
    }

    /// Builds the index, or waits for the thread that builds it. Returns its name.
    ///
    /// # Errors
    /// As [`CreateIndex::run`]. If a document cannot be indexed, the index is dropped.
    pub fn run(self) -> Result<String> {
        match self.drops {
            true => self.declared.build_or_drop(&self.engine, &self.name, &self.limits)?,
            false => self.declared.build(&self.engine, &self.name, &self.limits)?,
        }
        Ok(self.declared.name().to_owned())
    }
}

/// Checks the keys and options of an index without a database.
///
/// ```
/// assert!(alluvium::check_index(r#"{"age": 1}"#, r#"{"unique": true}"#).is_ok());
/// assert!(alluvium::check_index(r#"{"age": 5, "place": "flat"}"#, "{}").is_err());
/// ```
///
/// # Errors
/// [`crate::Error::Index`], [`crate::Error::Json`].
pub fn check_index(keys: impl IntoDocument, options: impl IntoDocument) -> Result<()> {
    Ok(indexes::check(&keys.into_map()?, &options.into_map()?)?)
}

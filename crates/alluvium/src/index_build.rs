//! Indexes as their users see them: their description, and their build.

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::index::IndexProgress;
use alluvium_collections::indexes::DeclaredIndex;
use alluvium_collections::names::FullName;
use alluvium_document::IntoDocument;
use alluvium_document::Map;
use alluvium_query::index::Definition;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What [`crate::Collection::indexes`] tells of an index.
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
    pub(crate) engine: EngineHandle,
    pub(crate) name: FullName,
    pub(crate) declared: DeclaredIndex,
    pub(crate) stop: Option<Arc<AtomicBool>>,
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
        self.declared.progress()
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
        self.declared.is_new()
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
        self.declared.name()
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
    /// As [`crate::Collection::create_index_with`].
    pub fn finish(self) -> Result<String> {
        self.declared.build(&self.engine, &self.name, self.stop.as_deref())?;
        Ok(self.declared.name().to_owned())
    }
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

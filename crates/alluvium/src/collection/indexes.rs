//! Indexes of a collection.

use super::Collection;
use crate::index_build::{IndexBuild, IndexInfo};
use alluvium_collections::error::Result;
use alluvium_collections::find::Hint;
use alluvium_collections::index_stats::{self, IndexStats};
use alluvium_collections::indexes;
use alluvium_document::IntoDocument;
use alluvium_document::Map;

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
        let (engine, name) = (&self.target.engine, self.target.name()?);
        let declared = indexes::declare(engine, name, &keys.into_map()?, &options.into_map()?)?;
        Ok(IndexBuild { engine: engine.clone(), name: name.clone(), declared, stop: None })
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
        indexes::drop_index(&self.target.engine, self.target.name()?, index.into())
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
        indexes::index_name(&self.target.engine, self.target.name()?, index.into())
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
        self.target.engine.catalog.drop_indexes(self.target.name()?, None)
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
    /// What keeps the collection from being opened.
    pub fn indexes(&self) -> Result<Vec<IndexInfo>> {
        let id = IndexInfo { name: indexes::ID_INDEX.to_owned(), definition: indexes::id_definition(), ready: true };
        let Some(state) = self.target.engine.catalog.find(self.target.name()?)? else { return Ok(Vec::new()) };
        let set = state.indexes();
        let others = set.indexes.iter().map(|index| IndexInfo {
            name: index.definition.name().to_owned(),
            definition: index.definition.to_map(),
            ready: index.ready.is_some(),
        });
        Ok(std::iter::once(id).chain(others).collect())
    }

    /// Figures of the indexes, but for that on `_id`, which is the documents themselves. Reads a few blocks and about a
    /// thousand entries of each.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
    /// pets.put("rex", r#"{"kind": "cat"}"#)?;
    /// pets.put("rex", r#"{"kind": "dog"}"#)?; // Reads nothing, so the entry of the cat stays.
    /// let stats = &pets.index_stats()?[0];
    /// assert_eq!((stats.entries, stats.stale_share()), (2, Some(0.5)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchCollection`], or as for any read.
    pub fn index_stats(&self) -> Result<Vec<IndexStats>> {
        index_stats::index_stats(&self.target.engine, self.target.name()?)
    }
}

//! Indexes of a collection.

use super::Collection;
use crate::create_index::{CreateIndex, IndexInfo};
use alluvium_collections::error::Result;
use alluvium_collections::find::Hint;
use alluvium_collections::index_stats::{self, IndexStats};
use alluvium_collections::indexes::{self, IndexChange};
use alluvium_collections::limits::Limits;
use alluvium_collections::options::ID_INDEX;
use alluvium_collections::rebuilding;
use alluvium_document::{IntoDocument, Map};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

impl<T> Collection<T> {
    /// Creates an index with these keys, such as `{"author": 1, "time": -1}`. Set its options, then
    /// call [`CreateIndex::run`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog", "age": 3}"#)?;
    /// assert_eq!(pets.create_index(r#"{"kind": 1, "age": -1}"#).run()?, "kind_1_age_-1");
    /// pets.create_index(r#"{"chip": 1}"#).unique(true).sparse(true).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn create_index(&self, keys: impl IntoDocument) -> CreateIndex {
        CreateIndex::new(self.target.clone(), keys)
    }

    /// Drops an index, given by its name or its keys. Queries stop using the index at once; its space is reclaimed in
    /// the background.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// let name = pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.drop_index(&name)?;
    /// assert!(pets.drop_index(r#"{"kind": 1}"#).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::index_name`]; [`crate::IndexError::CannotDropId`]; as for any write.
    pub fn drop_index(&self, index: impl Into<Hint>) -> Result<()> {
        let (engine, name) = self.target.outside("a change of indexes")?;
        indexes::drop_index(engine, name, index.into())
    }

    /// Rebuilds an index, given by its name or its keys. Queries do not use it until it is ready. A build that is
    /// interrupted continues when the database is opened again.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).unique(true).run()?;
    /// pets.rebuild_index("kind_1")?;
    /// assert!(pets.indexes()?[1].ready);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::index_name`]; as [`CreateIndex::run`].
    pub fn rebuild_index(&self, index: impl Into<Hint>) -> Result<()> {
        let (engine, name) = self.target.outside("a change of indexes")?;
        rebuilding::rebuild_index(engine, name, index.into(), &Limits::default())
    }

    /// Same as [`Collection::rebuild_index`], with a time limit and a stop flag. [`Duration::ZERO`] means no limit. If
    /// the limit or the flag ends this call, the build continues in the background, and queries use the index once it
    /// is ready.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use std::time::Duration;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.rebuild_index_within("kind_1", Duration::from_secs(60), std::sync::Arc::default())?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::rebuild_index`]; [`crate::Error::MaxTimeExpired`], [`crate::Error::Stopped`].
    pub fn rebuild_index_within(
        &self,
        index: impl Into<Hint>,
        max_time: Duration,
        stop: Arc<AtomicBool>,
    ) -> Result<()> {
        let mut limits = Limits::default();
        limits.stop = Some(stop);
        limits.set_max_time(max_time);
        let (engine, name) = self.target.outside("a change of indexes")?;
        limits.begin(&engine.env);
        rebuilding::rebuild_index(engine, name, index.into(), &limits)
    }

    /// Hides an index from queries, or shows it to them again, without rebuilding the index. Writes keep a hidden index
    /// up to date, and a hidden unique index refuses duplicates. Returns the previous definition.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.hide_index("kind_1", true)?;
    /// let plan = pets.find(r#"{"kind": "dog"}"#).explain()?;
    /// assert!(!plan.to_string().contains("index kind_1"));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::index_name`]; an error for the index on `_id`; as for any write.
    pub fn hide_index(&self, index: impl Into<Hint>, hidden: bool) -> Result<Map> {
        let change = IndexChange { hidden: Some(hidden), ..IndexChange::default() };
        let (engine, name) = self.target.outside("a change of indexes")?;
        Ok(indexes::change_index(engine, name, index.into(), change)?.0)
    }

    /// Changes the number of seconds after which an index deletes documents, without rebuilding the index. Returns the
    /// previous definition.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"seen": 1}"#).expire_after(std::time::Duration::from_secs(60)).run()?;
    /// pets.change_expiry("seen_1", 120)?;
    /// assert_eq!(pets.indexes()?[1].definition.get("expireAfterSeconds"), Some(&alluvium::Value::Int64(120)));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::hide_index`]; an error for an index that cannot delete documents.
    pub fn change_expiry(&self, index: impl Into<Hint>, seconds: u32) -> Result<Map> {
        let change = IndexChange { expire_after_s: Some(seconds), ..IndexChange::default() };
        let (engine, name) = self.target.outside("a change of indexes")?;
        Ok(indexes::change_index(engine, name, index.into(), change)?.0)
    }

    /// The name of the index with this name or these keys.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1, "age": -1}"#).name("by_kind").run()?;
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

    /// Drops all indexes except the one on `_id`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.drop_indexes()?;
    /// assert_eq!(pets.indexes()?.len(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::drop_index`], without the errors of the name.
    pub fn drop_indexes(&self) -> Result<()> {
        let (engine, name) = self.target.outside("a change of indexes")?;
        indexes::drop_all(engine, name)
    }

    /// The indexes, in the form of MongoDB's `listIndexes`. The index on `_id` comes first.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// let names: Vec<String> = pets.indexes()?.into_iter().map(|index| index.name).collect();
    /// assert_eq!(names, ["_id_", "kind_1"]);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors of opening the collection.
    pub fn indexes(&self) -> Result<Vec<IndexInfo>> {
        let Some(state) = self.target.state()? else { return Ok(Vec::new()) };
        let set = state.indexes();
        let definition = set.options.id_index();
        let id = IndexInfo { name: ID_INDEX.to_owned(), definition, ready: true, is_built: true };
        let others = set.indexes.iter().map(|index| IndexInfo {
            name: index.definition.name().to_owned(),
            definition: index.definition.to_map(),
            ready: index.ready.is_some(),
            is_built: true,
        });
        let unbuilt = set.options.unbuilt.iter().map(|index| IndexInfo {
            name: index.name().to_owned(),
            definition: index.to_map(),
            ready: true,
            is_built: false,
        });
        Ok(std::iter::once(id).chain(others).chain(unbuilt).collect())
    }

    /// Statistics of the indexes, except the index on `_id`, which consists of the documents themselves. Reads a few
    /// blocks and about a thousand entries of each index.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#).run()?;
    /// pets.put("rex", r#"{"kind": "cat"}"#)?;
    /// pets.put("rex", r#"{"kind": "dog"}"#)?; // Does not read the old document, so its index entry remains.
    /// let stats = &pets.index_stats()?[0];
    /// assert_eq!((stats.entries, stats.stale_share()), (2, Some(0.5)));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchCollection`], or as for any read.
    pub fn index_stats(&self) -> Result<Vec<IndexStats>> {
        index_stats::index_stats(&self.target.engine, self.target.name()?)
    }
}

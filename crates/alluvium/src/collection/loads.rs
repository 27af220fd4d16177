//! Loading files.

use super::Collection;
use alluvium_collections::error::Result;
use alluvium_transfer::load::{Input, Load, Metadata};

impl<T> Collection<T> {
    /// Loads an input, by default of JSON lines. Creates the collection if it does not exist.
    ///
    /// A load of a file in any format can be resumed: the new load skips the part of the (decompressed) input that was
    /// loaded before.
    ///
    /// ```
    /// use alluvium::load::Input;
    /// # let db = alluvium::Database::in_memory()?;
    /// let lines = "{\"_id\": 1, \"a\": true}\n{\"_id\": 2}\n";
    /// let input = Input::stream("example", std::io::Cursor::new(lines));
    /// let report = db.collection("c").load(input).run()?;
    /// assert_eq!(report.documents, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn load(&self, input: Input) -> Load<'static> {
        Load::new(self.target.engine.clone(), self.target.outside("a load").map(|(_, name)| name.clone()), input)
    }

    /// Creates the supported indexes in `metadata`; see [`Metadata::unsupported_indexes`] for the others. Creates the
    /// collection if it does not exist. Indexes that are created before the documents are loaded need no scan of the
    /// documents. Returns the names of the indexes that did not exist before.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{Map, Value, load::Metadata};
    /// let index = Map::from([("key", Value::Map(Map::from([("author", Value::from(1))]))), ("name", "by".into())]);
    /// let mut metadata = Metadata::default();
    /// metadata.indexes = vec![index];
    /// assert_eq!(db.collection("comments").create_indexes_of(&metadata)?, ["by"]);
    /// assert!(db.collection("comments").create_indexes_of(&metadata)?.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::create_index`].
    pub fn create_indexes_of(&self, metadata: &Metadata) -> Result<Vec<String>> {
        let (engine, name) = self.target.outside("a change of indexes")?;
        metadata.create_indexes(engine, name)
    }
}

//! Loading files.

use super::Collection;
use alluvium_collections::error::Result;
use alluvium_transfer::load::{self, Input, LoadOptions, LoadReport, LoadedBefore, Metadata};

impl<T> Collection<T> {
    /// Loads an input in the format of the options, by default JSON lines. Creates the collection
    /// if it does not exist.
    ///
    /// A load of a file in any format can be resumed: the part that was loaded before is skipped,
    /// up to its offset in the (decompressed) input.
    ///
    /// ```
    /// use alluvium::load::{Input, LoadOptions};
    /// # let db = alluvium::Database::in_memory()?;
    /// let lines = "{\"_id\": 1, \"a\": true}\n{\"_id\": 2}\n";
    /// let input = Input::stream("example", std::io::Cursor::new(lines));
    /// let report = db.collection("c").load(input, LoadOptions::default())?;
    /// assert_eq!(report.documents, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Load`] with line, column and reason; [`Error::DuplicateKey`]; or as for any write.
    /// The documents loaded before the error remain, and are durable.
    pub fn load(&self, input: Input, options: LoadOptions) -> Result<LoadReport> {
        load::load(&self.target.engine, self.target.name()?, input, options)
    }

    /// The progress of an earlier load of this input with the same format and `id_field`. `None` if
    /// there was none, or if the input cannot be resumed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// use alluvium::load::{Input, LoadOptions};
    /// let (path, pets) = (dir.path().join("pets.jsonl"), db.collection("pets"));
    /// std::fs::write(&path, "{\"_id\": 1}\n").expect("space");
    /// let input = || Input::file(&alluvium_env::Env::os(), &path);
    /// pets.load(input()?, LoadOptions::default())?;
    /// let before = pets.loaded_before(&input()?, &LoadOptions::default())?.expect("a mark");
    /// assert!(before.finished && before.documents == 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn loaded_before(&self, input: &Input, options: &LoadOptions) -> Result<Option<LoadedBefore>> {
        load::loaded_before(&self.target.engine, self.target.name()?, input, options)
    }

    /// Creates the indexes in `metadata`, as far as they are supported: see
    /// [`Metadata::unsupported_indexes`]. Creates the collection if it does not exist. If called
    /// before the documents are loaded, the indexes need no scan of the documents. Returns the
    /// names of the indexes that did not exist before.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// use alluvium::{Map, Value, load::Metadata};
    /// let index = Map::from([("key", Value::Map(Map::from([("author", Value::from(1))]))), ("name", "by".into())]);
    /// let metadata = Metadata { indexes: vec![index], ..Metadata::default() };
    /// assert_eq!(db.collection("comments").create_indexes_of(&metadata)?, ["by"]);
    /// assert!(db.collection("comments").create_indexes_of(&metadata)?.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::create_index`].
    pub fn create_indexes_of(&self, metadata: &Metadata) -> Result<Vec<String>> {
        metadata.create_indexes(&self.target.engine, self.target.name()?)
    }
}

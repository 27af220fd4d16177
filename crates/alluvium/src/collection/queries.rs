//! Queries.

use super::Collection;
use crate::find::Find;
use alluvium_collections::error::{Error, Result};
use alluvium_document::IntoDocument;
use alluvium_document::{Document, Value};

impl Collection {
    /// The documents that match a filter, in MongoDB's language: a question to be narrowed and then run. `{}` matches
    /// all.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "rex", "kind": "dog"}"#, r#"{"_id": "tom", "kind": "cat"}"#])?;
    /// for pet in pets.find(r#"{"kind": {"$in": ["dog", "wolf"]}}"#).run()? {
    ///     assert_eq!(pet?.id(), &alluvium::Value::from("rex"));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find {
        Find::new(self.target.clone(), None, filter)
    }

    /// The first document that matches.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// assert!(pets.find_one(r#"{"kind": "dog"}"#)?.is_some());
    /// assert!(pets.find_one(r#"{"kind": "cat"}"#)?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<Document>> {
        self.find(filter).first()
    }

    /// How many documents match.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.count_documents(r#"{"kind": "dog"}"#)?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`] and its cursor.
    pub fn count_documents(&self, filter: impl IntoDocument) -> Result<u64> {
        self.find(filter).count()
    }

    /// About how many documents the collection has: told from a few blocks of each sorted run, without a scan. Documents
    /// that were rewritten or deleted lately may count.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#])?;
    /// assert_eq!(pets.estimated_document_count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for any read.
    pub fn estimated_document_count(&self) -> Result<u64> {
        match self.stats() {
            Err(Error::NoSuchCollection { .. }) => Ok(0),
            stats => Ok(stats?.keys),
        }
    }

    /// The distinct values at a path of the documents that match a filter, in the order of all values.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"kind": "dog"}"#, r#"{"kind": "cat"}"#, r#"{"kind": "dog"}"#])?;
    /// assert_eq!(pets.distinct("kind", "{}")?, ["cat".into(), "dog".into()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Find::distinct`].
    pub fn distinct(&self, path: &str, filter: impl IntoDocument) -> Result<Vec<Value>> {
        self.find(filter).distinct(path)
    }
}

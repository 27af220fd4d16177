//! Read-only stores of documents, which are built once and then read by any number of processes.

use crate::aggregate::Aggregate;
use crate::find::Find;
use crate::kv;
use crate::origin::Origin;
use crate::scan::Scan;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_collections::read::fields_of;
use alluvium_collections::read_only::{ReadOnlyContent, ReadOnlyDocuments};
use alluvium_document::{Document, IntoDocument, Map, Value};
use alluvium_readonly::Stats as ReadOnlyStats;
use std::path::Path;

#[cfg(feature = "transfer")]
mod build;
mod open;

#[cfg(feature = "transfer")]
pub use build::BuildReadOnly;
pub use open::OpenReadOnly;

/// An open read-only store: a collection that never changes. Cheap to clone; any number of threads and processes may
/// read it at once, without a lock.
///
/// ```
/// use alluvium::ReadOnly;
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("pets.ro");
/// let mut build = ReadOnly::build(&path, "pets").start()?;
/// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
/// build.add(r#"{"_id": "tom", "kind": "cat"}"#)?;
/// build.finish()?;
///
/// let pets = ReadOnly::open(&path)?;
/// assert_eq!(pets.get("tom")?.expect("it is there").to_string(), r#"{"_id":"tom","kind":"cat"}"#);
/// assert_eq!(pets.count(), 2);
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct ReadOnly {
    documents: ReadOnlyDocuments,
}

impl ReadOnly {
    /// A store to build from the documents of a collection or, with [`BuildReadOnly::start_key_values`], from keys and
    /// values. The directory must be new or empty, or hold an interrupted build.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let mut build = alluvium::ReadOnly::build(&path, "pets").memory(64 << 20).start()?;
    /// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// assert_eq!(build.finish()?.pairs, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    #[cfg(feature = "transfer")]
    pub fn build(path: impl AsRef<Path>, collection: &str) -> BuildReadOnly {
        BuildReadOnly::new(path.as_ref().to_owned(), collection)
    }

    /// True if the directory holds a read-only store, complete or unfinished. [`OpenReadOnly::is_there`] does the same
    /// in another environment.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// assert!(alluvium::ReadOnly::is_at(&path)?);
    /// assert!(!alluvium::ReadOnly::is_at("nowhere")?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`].
    pub fn is_at(path: impl AsRef<Path>) -> Result<bool> {
        Self::options().is_there(path)
    }

    /// Opens a store with default options.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// let store = alluvium::ReadOnly::open(&path)?;
    /// assert!(store.get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`OpenReadOnly::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Options for opening.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.finish()?;
    /// let store = alluvium::ReadOnly::options().memory(16 << 20).open(&path)?;
    /// assert_eq!(store.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn options() -> OpenReadOnly {
        OpenReadOnly::new()
    }

    /// The directory.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.path(), path);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn path(&self) -> &Path {
        self.documents.pairs().path()
    }

    /// The kind of content: documents, or keys and values.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.content(), alluvium::ReadOnlyContent::Documents);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn content(&self) -> ReadOnlyContent {
        self.documents.content()
    }

    /// The collection's full name, `logical.collection`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.collection(), "main.pets");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collection(&self) -> String {
        self.documents.name().to_string()
    }

    /// Returns an error that names the store's collection, unless `collection` is its name.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// store.require("pets")?;
    /// assert!(store.require("people").is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidName`] or [`Error::NoSuchCollection`].
    pub fn require(&self, collection: &str) -> Result<()> {
        let wanted = FullName::parse(collection)?;
        if wanted == *self.documents.name() {
            return Ok(());
        }
        Err(Error::NoSuchCollection { name: wanted.to_string(), nearest: Some(self.collection()) })
    }

    /// The underlying keys and values.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.pairs().len(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn pairs(&self) -> &kv::read_only::ReadOnly {
        self.documents.pairs()
    }

    /// The document with this `_id`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.get("ada")?.unwrap().to_string(), r#"{"_id":"ada","age":12}"#);
    /// assert!(store.get("nobody")?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`crate::ErrorKind::Corruption`].
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<Document>> {
        self.documents.get(&id.into())
    }

    /// Some fields of the document with this `_id`, as [`crate::Collection::get_fields`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let fields = store.get_fields("rex", &["age"])?.unwrap();
    /// assert_eq!(fields.get("age").and_then(alluvium::Value::as_i64), Some(3));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::get`].
    pub fn get_fields(&self, id: impl Into<Value>, paths: &[&str]) -> Result<Option<Map>> {
        let Some(document) = self.get(id)? else { return Ok(None) };
        fields_of(&document, paths, self.documents.name()).map(Some)
    }

    /// A scan of the documents in the order of their `_id`s. Set its options, then call
    /// [`Scan::run`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let first = store.scan().from("b").run()?.next().unwrap()?;
    /// assert!(first.to_string().contains("rex"));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn scan(&self) -> Scan {
        Scan::read_only(self.documents.clone())
    }

    /// The field names that many documents share, sorted. Does not read documents; names that few
    /// documents have may be missing.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # for n in 0..100 { build.add(format!(r#"{{"_id": {n}, "kind": "dog", "age": 3}}"#))?; } build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.field_names(), ["_id", "age", "kind"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn field_names(&self) -> Vec<String> {
        self.documents.field_names()
    }

    /// The documents that match a filter. All documents are read, unless the filter selects `_id`s or a range of
    /// `_id`s: a store has no other indexes, and a hint that names another index is an error. A sort that needs more
    /// memory than half of the budget, or 100 MiB, fails with MongoDB's code 292.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let pets = store.find(r#"{"age": {"$gt": 2}}"#).sort(r#"{"age": 1}"#);
    /// assert_eq!(pets.clone().first()?.unwrap().to_string(), r#"{"_id":"rex","kind":"dog","age":3}"#);
    /// assert_eq!((pets.clone().count()?, pets.distinct("kind")?), (2, vec!["dog".into()]));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find {
        Find::over(Origin::ReadOnly(self.documents.clone()), filter)
    }

    /// The first document that matches a filter, as [`ReadOnly::find`] finds it.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let dog = store.find_one(r#"{"kind": "dog"}"#)?;
    /// assert_eq!(dog.unwrap().to_string(), r#"{"_id":"rex","kind":"dog","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Find::run`].
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<Document>> {
        self.find(filter).first()
    }

    /// A pipeline over the documents: an array of stages. Stages that read another collection fail with
    /// [`Error::OnlyCollection`]. Stages that write fail with [`Error::NeverChanges`]. Memory is limited as in
    /// [`ReadOnly::find`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// let counted = store.aggregate(r#"[{"$match": {"age": {"$gt": 2}}}, {"$count": "n"}]"#);
    /// assert_eq!(counted.first()?.unwrap().to_string(), r#"{"n":2}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn aggregate(&self, stages: impl IntoDocument) -> Aggregate {
        Aggregate::read_only(self.documents.clone(), stages)
    }

    /// The number of documents. Takes constant time.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn count(&self) -> u64 {
        self.documents.pairs().len()
    }

    /// Statistics of the store. Takes microseconds.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert_eq!(store.stats().pairs, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stats(&self) -> ReadOnlyStats {
        self.documents.pairs().stats()
    }

    /// Checks every block of every file, and checks that the indexes agree with the data. Returns the damage found. The
    /// list is empty for a sound store.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.add(r#"{"_id": "rex", "kind": "dog", "age": 3}"#)?; build.finish()?;
    /// # let store = alluvium::ReadOnly::open(&path)?;
    /// assert!(store.verify()?.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors that prevent the check.
    pub fn verify(&self) -> Result<Vec<Error>> {
        let damage = self.documents.pairs().verify()?;
        Ok(damage.into_iter().map(Error::from).collect())
    }
}

impl std::fmt::Debug for ReadOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadOnly").field("path", &self.path()).finish_non_exhaustive()
    }
}

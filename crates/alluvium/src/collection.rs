//! Collections, and operations on their documents.

use crate::at::CollectionAt;
use crate::scan::Scan;
use crate::target::Target;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::find::interrupt;
use alluvium_collections::limits::Limits;
use alluvium_collections::read::from_document;
use alluvium_collections::results::WriteRecord;
use alluvium_collections::snapshot::Snapshot;
use alluvium_collections::write::Patience;
use alluvium_document::{Document, DocumentFor, FromDocument, Map, Value};

use alluvium_store::{Durability, TreeStats};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod by_filter;
mod capped;
mod indexes;
#[cfg(feature = "transfer")]
mod loads;
mod queries;
mod updates;
mod validation;

/// A handle on a collection. Its documents are read and written as values of `T`. This is [`Document`], which holds any
/// document, or your own type with serde's traits ([`Collection::typed`]). A handle is cheap to clone. A handle holds
/// only the name: the collection may be dropped and created again while the handle exists.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Debug, PartialEq)]
/// struct Pet {
///     #[serde(rename = "_id")]
///     name: String,
///     age: u32,
/// }
///
/// let db = alluvium::Database::in_memory()?;
/// let pets = db.typed_collection::<Pet>("pets");
/// pets.insert_many([Pet { name: "rex".into(), age: 3 }, Pet { name: "ada".into(), age: 12 }])?;
/// let oldest = pets.find("{}").sort(r#"{"age": -1}"#).first()?;
/// assert_eq!(oldest, Some(Pet { name: "ada".into(), age: 12 }));
/// # alluvium::Result::Ok(())
/// ```
///
/// Filters and updates are documents of any form. Documents to write are values of `T`, or
/// references to them:
///
/// ```compile_fail
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Pet { age: u32 }
/// # let db = alluvium::Database::in_memory().unwrap();
/// let pets = db.typed_collection::<Pet>("pets");
/// pets.insert_one(r#"{"age": 3}"#); // not a Pet
/// ```
pub struct Collection<T = Document> {
    pub(crate) target: Target,
    documents: PhantomData<fn() -> T>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self::new(self.target.clone())
    }
}

impl<T> std::fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Collection").field(&self.target).finish()
    }
}

/// Gives tests and tools access to the engine.
#[doc(hidden)]
impl<T> AsRef<EngineHandle> for Collection<T> {
    fn as_ref(&self) -> &EngineHandle {
        &self.target.engine
    }
}

/// The result of [`Collection::insert_one`].
#[derive(Debug, Clone, PartialEq)]
pub struct InsertOneResult {
    /// The document's `_id`; generated if the document had none.
    pub inserted_id: Value,
}

/// The result of [`Collection::insert_many`].
#[derive(Debug, Clone, PartialEq)]
pub struct InsertManyResult {
    /// The documents' `_id`s in their order.
    pub inserted_ids: Vec<Value>,
}

impl<T> Collection<T> {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, documents: PhantomData }
    }

    /// The full name, `logical.collection`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.collection("pets").full_name()?, "main.pets");
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidName`] if the handle was created with a name that is not allowed.
    pub fn full_name(&self) -> Result<String> {
        Ok(self.target.name()?.to_string())
    }

    /// A number that identifies the collection as long as it exists: no other existing collection of the database has
    /// this number, and a rename does not change it. `None` if the collection does not exist.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// assert_eq!(pets.identity()?, None);
    /// pets.put("rex", "{}")?;
    /// let identity = pets.identity()?;
    /// db.rename_collection("pets", "animals")?;
    /// assert_eq!(db.collection("animals").identity()?, identity);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidName`]; errors of opening the collection.
    pub fn identity(&self) -> Result<Option<u64>> {
        Ok(self.target.state()?.map(|state| u64::from(state.documents.0)))
    }

    /// Returns an error, with the most similar name, if the collection does not exist. Without this
    /// check, reads find nothing, and the first write creates the collection.
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium::env::Env::in_memory(1)).open("db")?;
    /// db.collection("pets").put("rex", r#"{"age": 3}"#)?;
    /// db.collection("pets").require_existing()?;
    /// let error = db.collection("pest").require_existing().unwrap_err();
    /// assert_eq!(error.to_string(), "there is no collection main.pest: did you mean main.pets?");
    /// assert_eq!(db.collection("pest").get("rex")?, None);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::NoSuchCollection`]; errors of opening the collection.
    pub fn require_existing(&self) -> Result<()> {
        let (engine, name) = (&self.target.engine, self.target.name()?);
        match self.target.snapshot(None)? {
            Some(snapshot) => engine.catalog.require_at(name, &snapshot)?,
            None => engine.catalog.require(name)?,
        };
        Ok(())
    }

    /// A handle on the same collection whose writes have this durability, instead of the database's
    /// default.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets").with_durability(alluvium::Durability::Sync);
    /// pets.put("rex", r#"{"age": 3}"#)?; // Survives power loss from here on.
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.target.durability = durability;
        self
    }

    /// A handle on the same collection whose writes also store a record in another collection. A write and its record
    /// are in the same batch: after a crash either both exist or neither does. The record replaces an existing document
    /// with the same `_id`. Only inserts, and writes of one document by filter, are recorded. A write that changes
    /// nothing is not recorded.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # use alluvium::{WriteRecord, doc};
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let fields = std::sync::Arc::new(|written: &alluvium::Written| doc! {"changed": written.changed});
    /// let record = WriteRecord { collection: "requests".to_owned(), id: 17.into(), fields };
    /// pets.with_record(record).update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// // A program that was interrupted looks here before it repeats the update:
    /// assert_eq!(db.collection("requests").get(17)?.unwrap().to_string(), r#"{"_id":17,"changed":true}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn with_record(mut self, record: WriteRecord) -> Self {
        self.target = self.target.recording(record);
        self
    }

    /// A handle on the same collection whose writes are not checked by the collection's validator. A program that
    /// restores documents may use such a handle.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.set_validator(r#"{"age": {"$exists": true}}"#).run()?;
    /// assert!(pets.insert_one(r#"{"_id": "rex"}"#).is_err());
    /// pets.clone().without_validation().insert_one(r#"{"_id": "rex"}"#)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn without_validation(mut self) -> Self {
        self.target.validates = false;
        self
    }

    /// A handle on the same collection that limits the checks of the collection's validator. If the flag is set or the
    /// time expires while the validator checks a document, the write fails. A time of zero means no limit. Writes by
    /// filter have their own limits.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # use std::{sync::Arc, time::Duration};
    /// let pets = db.collection("pets").with_limits(Arc::default(), Duration::from_secs(5));
    /// pets.insert_one(r#"{"_id": "rex", "age": 3}"#)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn with_limits(mut self, stop: Arc<AtomicBool>, max_time: Duration) -> Self {
        let mut limits = Limits::default();
        limits.stop = Some(stop);
        limits.set_max_time(max_time);
        self.target.interrupt = interrupt(&limits, &self.target.engine.env);
        self
    }

    /// A handle on the same collection whose writes wait for the transactions of others as [`Patience`] says.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # db.create_collection("pets").run()?;
    /// # use std::sync::{Arc, atomic::AtomicUsize};
    /// let transaction = db.begin();
    /// transaction.collection("pets").put("rex", "{}")?;
    /// let pets = db.collection("pets").with_patience(&Arc::new(alluvium::Patience::new(Arc::new(AtomicUsize::new(0)), 8)));
    /// assert!(pets.delete("rex").is_err()); // At once: try it again when the transaction has ended.
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn with_patience(mut self, patience: &Arc<Patience>) -> Self {
        self.target.patience = Some(Arc::clone(patience));
        self
    }

    /// The durability of this handle's writes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.collection("pets").durability(), alluvium::Durability::Periodic);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn durability(&self) -> Durability {
        self.target.durability
    }

    /// A handle on the same collection that reads and writes documents as values of another type, like a handle from
    /// [`crate::Database::typed_collection`]. `typed::<Document>()` returns to whole documents.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Pet {
    ///     age: u32,
    /// }
    /// let pets = db.collection("pets").typed::<Pet>();
    /// pets.put("rex", Pet { age: 3 })?;
    /// assert_eq!(pets.get("rex")?.map(|pet| pet.age), Some(3));
    /// let documents = pets.typed::<alluvium::Document>();
    /// assert_eq!(documents.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn typed<U>(&self) -> Collection<U> {
        Collection::new(self.target.clone())
    }

    /// A read-only view of the collection that had this name at a snapshot, even if it was dropped
    /// or renamed since.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let before = db.snapshot();
    /// pets.update_one(r#"{"_id": "rex"}"#, r#"{"$inc": {"age": 1}}"#).run()?;
    /// assert_eq!(pets.at(&before).get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn at(&self, snapshot: &Snapshot) -> CollectionAt<T> {
        CollectionAt::new(self.target.clone(), snapshot.clone())
    }

    /// The names of fields that documents share, at any depth, sorted: suitable for completion.
    /// Does not read documents. Names that few documents have may be missing, and names that no
    /// document has any more may be included.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// for id in 0..100 {
    ///     pets.put(id, r#"{"kind": "dog", "chip": {"number": 1}}"#)?;
    /// }
    /// assert_eq!(pets.field_names()?, ["_id", "chip", "kind", "number"]);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Errors of reading the shapes of documents.
    pub fn field_names(&self) -> Result<Vec<String>> {
        let state = self.target.engine.collection_at(self.target.name()?, None)?;
        let fields = state.shapes.iter().flat_map(|shape| shape.fields());
        let names: std::collections::BTreeSet<&str> = fields.map(|field| &*field.name).collect();
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    /// Inserts a document. A document without an `_id` gets a new object id. The `_id` becomes its
    /// first field.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_one(r#"{"_id": "rex", "age": 3}"#)?;
    /// assert!(pets.insert_one(r#"{"_id": "rex"}"#).is_err());
    /// let made = pets.insert_one(r#"{"age": 1}"#)?.inserted_id; // an object id
    /// assert!(pets.get(made)?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if a document with this `_id` exists; [`Error::InvalidDocument`],
    /// [`Error::InvalidId`], [`Error::Json`]; or as for any write.
    pub fn insert_one(&self, document: impl DocumentFor<T>) -> Result<InsertOneResult> {
        let mut result = self.insert_many([document])?;
        let inserted_id = result.inserted_ids.pop().unwrap_or(Value::Null);
        Ok(InsertOneResult { inserted_id })
    }

    /// Inserts documents in their order. Either all of them are inserted, or none.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "rex"}"#, r#"{"_id": "tom"}"#])?;
    /// assert_eq!(pets.count()?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::insert_one`]; [`crate::kv::Error::BatchTooLarge`] if they do not fit one batch.
    pub fn insert_many<D: DocumentFor<T>>(&self, documents: impl IntoIterator<Item = D>) -> Result<InsertManyResult> {
        let given = documents.into_iter().map(|document| Ok(document.into_given()?)).collect::<Result<Vec<_>>>()?;
        Ok(InsertManyResult { inserted_ids: self.target.writer()?.insert_given(given)? })
    }

    /// Writes a document with this `_id`. An existing document is replaced without being read.
    ///
    /// If the document has an `_id`, it must equal `id`. The `_id` becomes its first field.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.put("rex", r#"{"age": 4}"#)?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":4}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::insert_one`], without [`Error::DuplicateKey`].
    pub fn put(&self, id: impl Into<Value>, document: impl DocumentFor<T>) -> Result<()> {
        self.target.writer()?.put_given(id.into(), document.into_given()?)
    }

    /// Deletes the document with this `_id`, if it exists, without reading it.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.delete("rex")?;
    /// pets.delete("missing")?; // No error: the document is not read.
    /// assert_eq!(pets.count()?, 0);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], or as for any write.
    pub fn delete(&self, id: impl Into<Value>) -> Result<()> {
        self.target.writer()?.delete(&id.into())
    }

    /// The document with this `_id`.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog", "age": 3}"#)?;
    /// if let Some(rex) = pets.get("rex")? {
    ///     println!("{rex}");
    /// }
    /// assert!(pets.get("tom")?.is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`crate::ErrorKind::Corruption`].
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<T>>
    where
        T: FromDocument,
    {
        let id = id.into();
        let document = self.target.read(|reader| reader.get(&id))?;
        document.map(|document| from_document(self.target.name()?, document)).transpose()
    }

    /// The documents with these `_id`s, in the order of `ids`, all read at the same snapshot.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let found = pets.get_many(["tom", "rex"])?;
    /// assert!(found[0].is_none() && found[1].is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_many<I: Into<Value>>(&self, ids: impl IntoIterator<Item = I>) -> Result<Vec<Option<T>>>
    where
        T: FromDocument,
    {
        self.at(&self.target.now()?).get_many(ids)
    }

    /// Some fields of the document with this `_id`, in the order of `paths`; `_id` comes first. A
    /// path such as `a.b.0` leads into maps by names and into arrays by numbers. Other values are
    /// not decoded.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3, "chip": {"number": 17, "by": "vet"}}"#)?;
    /// let fields = pets.get_fields("rex", &["chip.number"])?.unwrap();
    /// assert_eq!(fields.get("chip.number"), Some(&alluvium::Value::Int32(17)));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_fields(&self, id: impl Into<Value>, paths: &[&str]) -> Result<Option<Map>> {
        let id = id.into();
        self.target.read(|reader| reader.get_fields(&id, paths))
    }

    /// A scan of the documents in the order of their `_id`s. Set its options, then call
    /// [`Scan::run`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "ada"}"#, r#"{"_id": "rex"}"#, r#"{"_id": "tom"}"#])?;
    /// let found: alluvium::Result<Vec<_>> = pets.scan().from("b").limit(1).run()?.collect();
    /// assert_eq!(found?[0].to_string(), r#"{"_id":"rex"}"#);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn scan(&self) -> Scan<T> {
        Scan::new(self.target.clone(), None)
    }

    /// The size of the collection's sorted files, and the estimated number of its documents. Reads a few blocks of each
    /// sorted run. Documents that are still in memory are included in the estimate, and not in the size.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// db.flush()?;
    /// let stats = pets.stats()?;
    /// assert_eq!(stats.keys, 1);
    /// assert_eq!(stats.files + stats.shared_files, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn stats(&self) -> Result<TreeStats> {
        let (engine, name) = (&self.target.engine, self.target.name()?);
        let documents = engine.catalog.require(name)?.documents;
        engine.store().tree_stats(documents).map_err(|error| match error {
            // If the collection was dropped concurrently, return the error for a collection that does not exist.
            alluvium_store::Error::NoSuchTree(_) => engine.catalog.missing(name),
            error => error.into(),
        })
    }

    /// The number of documents. Reads all keys.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(pets.count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn count(&self) -> Result<u64> {
        if self.target.engine.catalog.view(self.target.name()?).is_some() {
            return self.find(Map::new()).count();
        }
        self.at(&self.target.now()?).count()
    }

    /// Drops the collection.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.drop()?;
    /// assert!(db.collections().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::drop_collection`].
    pub fn drop(&self) -> Result<()> {
        let (engine, name) = self.target.outside("the drop of a collection")?;
        engine.catalog.drop(name)
    }
}

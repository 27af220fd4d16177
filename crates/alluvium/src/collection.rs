//! A collection: what is done to its documents.

use crate::catalog::Open;
use crate::cursor::Scan;
use crate::database::Snapshot;
use crate::names::FullName;
use crate::read::{CollectionAt, Reader};
use crate::write::{self, Encoded};
use crate::{Database, Durability, Error, IntoDocument, Result, TypedCollection};
use alluvium_document::{Document, Map, Value};
use alluvium_store::{LockMode, Store};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A handle on a collection. Cheap to clone; it holds a name, not the collection, which may be
/// dropped and created again while the handle lives.
#[derive(Clone)]
pub struct Collection {
    pub(crate) database: Database,
    name: Result<FullName>,
    pub(crate) durability: Durability,
}

/// What [`Collection::insert_one`] did.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertOneResult {
    /// The document's `_id`, generated if it had none.
    pub inserted_id: Value,
}

/// What [`Collection::insert_many`] did.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertManyResult {
    /// The documents' `_id`s in their order.
    pub inserted_ids: Vec<Value>,
}

impl Collection {
    pub(crate) fn new(database: Database, name: Result<FullName>) -> Self {
        let durability = database.inner.store.options().durability;
        Self { database, name, durability }
    }

    /// The full name, `logical.collection`.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// assert_eq!(db.collection("pets").full_name()?, "main.pets");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidName`] if the handle was made with a name that is not allowed.
    pub fn full_name(&self) -> Result<String> {
        Ok(self.name.clone()?.to_string())
    }

    /// The same collection, with writes acknowledged at another point than the database's default.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets").with_durability(alluvium::Durability::Sync);
    /// pets.put("rex", r#"{"age": 3}"#)?; // Survives power loss from here on.
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// When this handle's writes are acknowledged.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// assert_eq!(db.collection("pets").durability(), alluvium::Durability::Periodic);
    /// # Ok(())
    /// # }
    /// ```
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// The same collection, its documents as values of your type.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Pet {
    ///     age: u32,
    /// }
    /// let pets = db.collection("pets").typed::<Pet>();
    /// pets.put("rex", &Pet { age: 3 })?;
    /// assert_eq!(pets.get("rex")?.map(|pet| pet.age), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn typed<T>(&self) -> TypedCollection<T> {
        TypedCollection::new(self.clone())
    }

    /// The collection that had this name at a snapshot, as it was then, for reading; also if it was
    /// dropped or renamed since.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let before = db.snapshot();
    /// pets.update("rex", r#"{"$inc": {"age": 1}}"#)?;
    /// assert_eq!(pets.at(&before).get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":3}"#);
    /// # Ok(())
    /// # }
    /// ```
    pub fn at(&self, snapshot: &Snapshot) -> CollectionAt {
        CollectionAt::new(self.clone(), snapshot.clone())
    }

    /// The names of the fields that documents share, at any depth, sorted: what a user may ask for. Costs no reading of
    /// documents. Names that few documents have may be missing; names that no document has any more may be there.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// for id in 0..100 {
    ///     pets.put(id, r#"{"kind": "dog", "chip": {"number": 1}}"#)?;
    /// }
    /// assert_eq!(pets.field_names()?, ["_id", "chip", "kind", "number"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchCollection`], or what keeps the shapes from being read.
    pub fn field_names(&self) -> Result<Vec<String>> {
        let open = self.open()?;
        let fields = open.shapes.iter().flat_map(|shape| shape.fields());
        let names: std::collections::BTreeSet<&str> = fields.map(|field| &*field.name).collect();
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.database.inner.store
    }

    pub(crate) fn name(&self) -> Result<&FullName> {
        self.name.as_ref().map_err(Clone::clone)
    }

    /// The shared state; an error if the collection does not exist.
    pub(crate) fn open(&self) -> Result<Arc<Open>> {
        self.database.inner.catalog.require(self.store(), self.name()?)
    }

    /// The shared state of the collection that had the name at the snapshot, if there is one.
    pub(crate) fn open_at(&self, snapshot: Option<&Snapshot>) -> Result<Arc<Open>> {
        match snapshot {
            Some(snapshot) => self.database.inner.catalog.require_at(self.store(), self.name()?, snapshot),
            None => self.open(),
        }
    }

    /// The shared state; nothing if the collection does not exist.
    pub(crate) fn existing(&self) -> Result<Option<Arc<Open>>> {
        self.database.inner.catalog.find(self.store(), self.name()?)
    }

    /// The shared state; the collection is created if it does not exist.
    pub(crate) fn open_or_create(&self) -> Result<Arc<Open>> {
        self.database.inner.catalog.find_or_create(self.store(), self.name()?)
    }

    /// Runs a write, again if the collection is dropped or gets other indexes while it is being prepared.
    pub(crate) fn retry<T>(&self, mut write: impl FnMut(&Arc<Open>) -> Result<T>) -> Result<T> {
        loop {
            match write(&self.open_or_create()?) {
                Err(Error::Store(alluvium_store::Error::NoSuchTree(_) | alluvium_store::Error::SchemaChanged(_))) => {
                    self.database.inner.catalog.settle(&self.database.inner.store)?;
                }
                result => return result,
            }
        }
    }

    /// As [`Collection::retry`], for a write that needs the collection.
    pub(crate) fn retry_existing<T>(&self, mut write: impl FnMut(&Arc<Open>) -> Result<T>) -> Result<T> {
        loop {
            match write(&self.open()?) {
                Err(Error::Store(alluvium_store::Error::NoSuchTree(_) | alluvium_store::Error::SchemaChanged(_))) => {
                    self.database.inner.catalog.settle(&self.database.inner.store)?;
                }
                result => return result,
            }
        }
    }

    pub(crate) fn reader<'a>(&'a self, snapshot: Option<&'a Snapshot>) -> Result<Reader<'a>> {
        Ok(Reader { store: self.store(), open: self.open_at(snapshot)?, name: self.name()?, snapshot })
    }

    /// Inserts a document. Without an `_id` it gets an object id. The `_id` becomes its first field.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_one(r#"{"_id": "rex", "age": 3}"#)?;
    /// assert!(pets.insert_one(r#"{"_id": "rex"}"#).is_err());
    /// let made = pets.insert_one(r#"{"age": 1}"#)?.inserted_id; // an object id
    /// assert!(pets.get(made)?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if the `_id` is taken; [`Error::InvalidDocument`],
    /// [`Error::InvalidId`], [`Error::Json`]; or as for any write.
    pub fn insert_one(&self, document: impl IntoDocument) -> Result<InsertOneResult> {
        let mut result = self.insert_many([document])?;
        let inserted_id = result.inserted_ids.pop().unwrap_or(Value::Null);
        Ok(InsertOneResult { inserted_id })
    }

    /// Inserts documents in their order, all or none.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "rex"}"#, r#"{"_id": "tom"}"#])?;
    /// assert_eq!(pets.count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::insert_one`]; [`alluvium_store::Error::BatchTooLarge`] if they do not fit one batch.
    pub fn insert_many<D: IntoDocument>(&self, documents: impl IntoIterator<Item = D>) -> Result<InsertManyResult> {
        let mut maps = Vec::new();
        for document in documents {
            let mut map = document.into_map()?;
            write::ensure_id(&mut map, &self.database.inner.env);
            maps.push(map);
        }
        self.retry(|open| self.insert_maps(open, &maps))?;
        let id = |map: Map| map.get("_id").cloned().unwrap_or(Value::Null);
        Ok(InsertManyResult { inserted_ids: maps.into_iter().map(id).collect() })
    }

    fn insert_maps(&self, open: &Open, maps: &[Map]) -> Result<()> {
        let (store, name) = (self.store(), self.name()?);
        let mut encoded = Encoded::new(store, open, name);
        for map in maps {
            encoded.put(open, map, None)?;
        }
        encoded.prepare(store, open)?;
        let _admitted = store.admit(encoded.bytes(open))?;
        let locks = encoded.lock(store, open, LockMode::Exclusive);
        encoded.refuse_existing(store, open, maps)?;
        encoded.entries.check_unique(store, open, name)?;
        encoded.commit_locked(store, open, self.durability, &locks)
    }

    /// Puts a document under `id`, replacing the one that is there. Reads nothing.
    ///
    /// The document's own `_id`, if it has one, must be equal. It becomes its first field.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.put("rex", r#"{"age": 4}"#)?;
    /// assert_eq!(pets.get("rex")?.unwrap().to_string(), r#"{"_id":"rex","age":4}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::insert_one`], but for the duplicate.
    pub fn put(&self, id: impl Into<Value>, document: impl IntoDocument) -> Result<()> {
        let mut map = document.into_map()?;
        write::set_id(&mut map, id.into())?;
        self.retry(|open| {
            let mut encoded = Encoded::new(self.store(), open, self.name()?);
            encoded.put(open, &map, None)?;
            encoded.commit_blind(self.store(), open, self.durability)
        })
    }

    /// Deletes the document with this `_id`, whether it is there or not. Reads nothing.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.delete("rex")?;
    /// pets.delete("nobody")?; // No error: nobody looked.
    /// assert_eq!(pets.count()?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchCollection`], [`Error::InvalidId`], or as for any write.
    pub fn delete(&self, id: impl Into<Value>) -> Result<()> {
        let key = write::id_key(&id.into())?;
        self.retry_existing(|open| {
            let mut encoded = Encoded::new(self.store(), open, self.name()?);
            encoded.delete(open, &key);
            encoded.commit_blind(self.store(), open, self.durability)
        })
    }

    /// Deletes the document with this `_id` and returns it, if it was there: reads.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert!(pets.get_and_delete("rex")?.is_some());
    /// assert!(pets.get_and_delete("rex")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn get_and_delete(&self, id: impl Into<Value>) -> Result<Option<Document>> {
        self.remove(id.into(), |_| Ok(true))
    }

    /// The document with this `_id`.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"kind": "dog", "age": 3}"#)?;
    /// if let Some(rex) = pets.get("rex")? {
    ///     println!("{rex}");
    /// }
    /// assert!(pets.get("tom")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchCollection`], [`Error::InvalidId`], [`crate::ErrorKind::Corruption`].
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<Document>> {
        self.reader(None)?.get(&id.into())
    }

    /// The documents with these `_id`s, in their order, all of one moment.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let found = pets.get_many(["tom", "rex"])?;
    /// assert!(found[0].is_none() && found[1].is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_many<I: Into<Value>>(&self, ids: impl IntoIterator<Item = I>) -> Result<Vec<Option<Document>>> {
        self.at(&self.database.snapshot()).get_many(ids)
    }

    /// Some fields of the document with this `_id`, in the order of `paths`; `_id` comes first.
    /// A path leads into maps by names and into arrays by numbers, `a.b.0`. Decodes no other value.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3, "chip": {"number": 17, "by": "vet"}}"#)?;
    /// let fields = pets.get_fields("rex", &["chip.number"])?.unwrap();
    /// assert_eq!(fields.get("chip.number"), Some(&alluvium::Value::Int32(17)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_fields(&self, id: impl Into<Value>, paths: &[&str]) -> Result<Option<Map>> {
        self.reader(None)?.get_fields(&id.into(), paths)
    }

    /// The documents in the order of their `_id`s: a scan to be narrowed and then started.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.insert_many([r#"{"_id": "ada"}"#, r#"{"_id": "rex"}"#, r#"{"_id": "tom"}"#])?;
    /// let found: alluvium::Result<Vec<_>> = pets.scan().from("b").limit(1).run()?.collect();
    /// assert_eq!(found?[0].to_string(), r#"{"_id":"rex"}"#);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone(), None)
    }

    /// What sorted files hold of the collection's documents, and about how many there are. Reads a few blocks of
    /// each sorted run; what is in memory only counts in the estimate.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// db.flush()?;
    /// let stats = pets.stats()?;
    /// assert_eq!(stats.keys, 1);
    /// assert_eq!(stats.files + stats.shared_files, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn stats(&self) -> Result<alluvium_store::TreeStats> {
        let (name, open) = (self.name()?.clone(), self.open()?);
        self.store().tree_stats(open.documents).map_err(|error| match error {
            // Dropped meanwhile: named as if it had been found so before.
            alluvium_store::Error::NoSuchTree(_) => self.database.inner.catalog.missing(self.store(), &name),
            error => error.into(),
        })
    }

    /// The number of documents. Walks all keys.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// assert_eq!(pets.count()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn count(&self) -> Result<u64> {
        self.at(&self.database.snapshot()).count()
    }

    /// As [`Collection::count`], until somebody sets `stop`.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.create_collection("pets")?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// assert_eq!(pets.count_unless(&stop)?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`]; [`crate::ErrorKind::Stopped`] if it was stopped.
    pub fn count_unless(&self, stop: &AtomicBool) -> Result<u64> {
        self.reader(Some(&self.database.snapshot()))?.count(stop)
    }

    /// Drops the collection.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.drop()?;
    /// assert!(db.collections().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::drop_collection`].
    pub fn drop(&self) -> Result<()> {
        self.database.inner.catalog.drop(self.store(), self.name()?)
    }
}

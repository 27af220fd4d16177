//! Reading documents: the latest, or those of a snapshot.

use crate::catalog::Open;
use crate::cursor::Scan;
use crate::database::Snapshot;
use crate::error::id_text;
use crate::names::FullName;
use crate::{Collection, Error, Find, IntoDocument, Result, write};
use alluvium_document::row::RowError;
use alluvium_document::shape::ShapeTable;
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_query::filter::Filter;
use alluvium_store::{Bounds, Store};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One read under way.
pub(crate) struct Reader<'a> {
    pub store: &'a Store,
    pub open: Arc<Open>,
    pub name: &'a FullName,
    pub snapshot: Option<&'a Snapshot>,
}

impl Reader<'_> {
    pub fn get(&self, id: &Value) -> Result<Option<Document>> {
        self.get_key(&write::id_key(id)?, id)
    }

    pub fn get_key(&self, key: &[u8], id: &Value) -> Result<Option<Document>> {
        let mut row = Vec::new();
        let found = match self.snapshot {
            Some(snapshot) => self.store.get_at(&snapshot.store, self.open.documents, key, &mut row)?,
            None => self.store.get(self.open.documents, key, &mut row)?,
        };
        if !found {
            return Ok(None);
        }
        decode(&self.open.shapes, self.name, key, row).map(Some).map_err(|e| named(e, id))
    }

    /// The latest version of a document, and how many deltas it was folded of.
    pub fn get_chained(&self, key: &[u8], id: &Value) -> Result<Option<(Document, usize)>> {
        let mut row = Vec::new();
        let Some(deltas) = self.store.get_chained(self.open.documents, key, &mut row)? else { return Ok(None) };
        let document = decode(&self.open.shapes, self.name, key, row).map_err(|e| named(e, id))?;
        Ok(Some((document, deltas)))
    }

    /// A draft of a document that was read.
    pub fn draft(&self, document: Document) -> Result<Draft> {
        let id = document.id().clone();
        Draft::new(document).map_err(|e| Error::DamagedDocument {
            collection: self.name.to_string(),
            id: id_text(&id),
            reason: e.to_string(),
        })
    }

    pub fn get_fields(&self, id: &Value, paths: &[&str]) -> Result<Option<Map>> {
        let Some(document) = self.get(id)? else { return Ok(None) };
        fields_of(&document, paths, self.name).map(Some)
    }

    /// Walks all keys, until somebody sets `stop`.
    pub fn count(&self, stop: &AtomicBool) -> Result<u64> {
        let snapshot = self.snapshot.map(|s| &s.store);
        let mut scan = self.store.scan(self.open.documents, Bounds::all(), snapshot)?;
        let mut count = 0;
        while scan.next()?.is_some() {
            count += 1;
            Error::unless_stopped(stop)?;
        }
        Ok(count)
    }
}

/// The document of a key and its row.
pub(crate) fn decode(shapes: &Arc<ShapeTable>, name: &FullName, key: &[u8], row: Vec<u8>) -> Result<Document> {
    Document::from_row(shapes, key, row).map_err(|e| Error::DamagedDocument {
        collection: name.to_string(),
        id: key_text(key),
        reason: e.to_string(),
    })
}

/// What is met where a document that was read is looked at further.
pub(crate) fn damaged(name: &FullName, document: &Document) -> impl Fn(RowError) -> Error {
    move |error| Error::DamagedDocument {
        collection: name.to_string(),
        id: id_text(document.id()),
        reason: error.to_string(),
    }
}

/// Whether a document that was read matches.
pub(crate) fn matches(filter: &Filter, name: &FullName, document: &Document) -> Result<bool> {
    filter.matches(document).map_err(damaged(name, document))
}

/// Decodes all of a stored document; returns its `_id`, which must be that of its key.
pub(crate) fn check(shapes: &Arc<ShapeTable>, name: &FullName, key: &[u8], row: &[u8]) -> Result<Value> {
    let damaged = |reason: String| Error::DamagedDocument { collection: name.to_string(), id: key_text(key), reason };
    let document = Document::from_row(shapes, key, row.to_vec()).map_err(|e| damaged(e.to_string()))?;
    document.to_map().map_err(|e| damaged(e.to_string()))?;
    match write::id_key(document.id())? == key {
        true => Ok(document.id().clone()),
        false => Err(damaged(format!("it says that its _id is {}", id_text(document.id())))),
    }
}

pub(crate) fn named(mut error: Error, wanted: &Value) -> Error {
    if let Error::DamagedDocument { id, .. } = &mut error {
        *id = id_text(wanted);
    }
    error
}

/// The `_id` of a key, as text.
pub(crate) fn key_text(mut key: &[u8]) -> String {
    alluvium_document::key::decode(&mut key).map_or_else(|_| format!("key {key:02x?}"), |id| id_text(&id))
}

/// `_id` and the values at some paths, each under its path.
pub(crate) fn fields_of(document: &Document, paths: &[&str], name: &FullName) -> Result<Map> {
    let damaged = damaged(name, document);
    let mut fields = Map::new();
    if !paths.contains(&"_id") {
        fields.push("_id", document.id().clone());
    }
    for path in paths {
        if let Some(value) = document.get_path(path).map_err(&damaged)? {
            fields.push(*path, value.to_value().map_err(&damaged)?);
        }
    }
    Ok(fields)
}

/// A collection as it was at a snapshot, under the name that it had then. Reads only.
#[derive(Clone)]
pub struct CollectionAt {
    collection: Collection,
    snapshot: Snapshot,
}

impl CollectionAt {
    pub(crate) fn new(collection: Collection, snapshot: Snapshot) -> Self {
        Self { collection, snapshot }
    }

    /// As [`Collection::get`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert!(pets.at(&before).get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there, and [`crate::ErrorKind::SnapshotTooOld`].
    pub fn get(&self, id: impl Into<Value>) -> Result<Option<Document>> {
        self.collection.reader(Some(&self.snapshot))?.get(&id.into())
    }

    /// As [`Collection::get_many`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// let found = pets.at(&before).get_many(["rex", "nobody"])?;
    /// assert!(found[0].is_some() && found[1].is_none());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CollectionAt::get`].
    pub fn get_many<I: Into<Value>>(&self, ids: impl IntoIterator<Item = I>) -> Result<Vec<Option<Document>>> {
        let reader = self.collection.reader(Some(&self.snapshot))?;
        ids.into_iter().map(|id| reader.get(&id.into())).collect()
    }

    /// As [`Collection::get_fields`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.update("rex", r#"{"$inc": {"age": 1}}"#)?;
    /// let fields = pets.at(&before).get_fields("rex", &["age"])?.unwrap();
    /// assert_eq!(fields.get("age").and_then(alluvium::Value::as_i64), Some(3));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CollectionAt::get`].
    pub fn get_fields(&self, id: impl Into<Value>, paths: &[&str]) -> Result<Option<Map>> {
        self.collection.reader(Some(&self.snapshot))?.get_fields(&id.into(), paths)
    }

    /// As [`Collection::scan`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).scan().run()?.count(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn scan(&self) -> Scan {
        Scan::new(self.collection.clone(), Some(self.snapshot.clone()))
    }

    /// As [`Collection::find`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).find(r#"{"age": {"$lt": 10}}"#).run()?.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn find(&self, filter: impl IntoDocument) -> Find {
        Find::new(self.collection.clone(), Some(self.snapshot.clone()), filter)
    }

    /// As [`Collection::find_one`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert!(pets.at(&before).find_one(r#"{"age": 3}"#)?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there, and [`crate::ErrorKind::SnapshotTooOld`].
    pub fn find_one(&self, filter: impl IntoDocument) -> Result<Option<Document>> {
        self.find(filter).first()
    }

    /// As [`Collection::count_documents`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).count_documents(r#"{"age": {"$lt": 10}}"#)?, 2);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there, and [`crate::ErrorKind::SnapshotTooOld`].
    pub fn count_documents(&self, filter: impl IntoDocument) -> Result<u64> {
        self.find(filter).count()
    }

    /// As [`Collection::distinct`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!(pets.at(&before).distinct("age", "{}")?.len(), 3);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As there, and [`crate::ErrorKind::SnapshotTooOld`].
    pub fn distinct(&self, path: &str, filter: impl IntoDocument) -> Result<Vec<Value>> {
        self.find(filter).distinct(path)
    }

    /// As [`Collection::count`].
    ///
    /// ```
    /// # let db = alluvium::Database::builder().env(alluvium_env::Env::in_memory(1)).open("db")?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let before = db.snapshot();
    /// pets.delete("rex")?;
    /// assert_eq!((pets.at(&before).count()?, pets.count()?), (3, 2));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`CollectionAt::get`].
    pub fn count(&self) -> Result<u64> {
        self.collection.reader(Some(&self.snapshot))?.count(&AtomicBool::new(false))
    }
}

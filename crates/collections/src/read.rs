//! Reading documents, now or at a snapshot.

use crate::engine::Engine;
use crate::error::{Error, Result, id_text};
use crate::ids;
use crate::names::FullName;
use crate::snapshot::Snapshot;
use crate::state::CollectionState;
use alluvium_document::row::RowError;
use alluvium_document::shape::ShapeTable;
use alluvium_document::{Document, DocumentError, Draft, FromDocument, FromDocumentError, Map, Value};
use alluvium_query::filter::{Filter, MatchError};
use alluvium_store::{Bounds, Store};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reads documents of one collection.
pub struct Reader<'a> {
    store: &'a Store,
    state: Arc<CollectionState>,
    name: &'a FullName,
    snapshot: Option<&'a alluvium_store::Snapshot>,
}

/// A document, and the count of deltas that were folded into it.
pub(crate) struct Folded {
    pub document: Document,
    pub deltas: usize,
}

impl<'a> Reader<'a> {
    /// Reads the collection with this name, now or at a snapshot. A collection that does not exist is empty.
    ///
    /// # Errors
    /// Errors of reading the shapes.
    pub fn new(engine: &'a Engine, name: &'a FullName, snapshot: Option<&'a Snapshot>) -> Result<Self> {
        let state = engine.collection_at(name, snapshot)?;
        Ok(Self { store: engine.store(), state, name, snapshot: snapshot.map(|snapshot| &snapshot.store) })
    }

    /// Reads the documents that a write depends on: at the snapshot of its transaction, or the latest ones.
    pub(crate) fn of_write(
        store: &'a Store,
        state: Arc<CollectionState>,
        name: &'a FullName,
        snapshot: Option<&'a alluvium_store::Snapshot>,
    ) -> Self {
        Self { store, state, name, snapshot }
    }

    /// The document with this `_id`.
    ///
    /// # Errors
    /// [`Error::InvalidId`]; damage; errors of reading the store.
    pub fn get(&self, id: &Value) -> Result<Option<Document>> {
        self.get_key(&ids::id_key(id)?, id)
    }

    pub(crate) fn get_key(&self, key: &[u8], id: &Value) -> Result<Option<Document>> {
        let mut row = Vec::new();
        let found = match self.snapshot {
            Some(snapshot) => self.store.get_at(snapshot, self.state.documents, key, &mut row)?,
            None => or_if_dropped(self.store.get(self.state.documents, key, &mut row), false)?,
        };
        if !found {
            return Ok(None);
        }
        decode(&self.state.shapes, self.name, key, row).map(Some).map_err(|e| with_id(e, id))
    }

    /// The document with this key, and the count of its deltas.
    pub(crate) fn get_folded(&self, key: &[u8]) -> Result<Option<Folded>> {
        let mut row = Vec::new();
        let (store, documents) = (self.store, self.state.documents);
        let deltas = match self.snapshot {
            Some(snapshot) => store.get_chained_at(snapshot, documents, key, &mut row)?,
            None => store.get_chained(documents, key, &mut row)?,
        };
        let Some(deltas) = deltas else { return Ok(None) };
        let document = decode(&self.state.shapes, self.name, key, row)?;
        Ok(Some(Folded { document, deltas }))
    }

    /// A draft of a document that was read.
    pub(crate) fn draft(&self, document: Document) -> Result<Draft> {
        let id = document.id().clone();
        Draft::new(document).map_err(|e| Error::DamagedDocument {
            collection: self.name.to_string(),
            id: id_text(&id),
            reason: e.to_string(),
        })
    }

    /// The `_id` of a document and the values at some paths.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn get_fields(&self, id: &Value, paths: &[&str]) -> Result<Option<Map>> {
        let Some(document) = self.get(id)? else { return Ok(None) };
        fields_of(&document, paths, self.name).map(Some)
    }

    /// Counts the documents with a scan of all keys. Ends if `stop` is set.
    ///
    /// # Errors
    /// [`Error::Stopped`]; errors of reading the store.
    pub fn count(&self, stop: &AtomicBool) -> Result<u64> {
        let scan = self.store.scan(self.state.documents, Bounds::all(), self.snapshot);
        let Some(mut scan) = or_if_dropped(scan.map(Some), None)? else { return Ok(0) };
        let mut count = 0;
        while scan.next()?.is_some() {
            count += 1;
            Error::unless_stopped(stop)?;
        }
        Ok(count)
    }
}

/// The value read from a tree. Returns `absent` if the tree was dropped after its collection was looked up, because a
/// collection that does not exist is empty.
fn or_if_dropped<T>(read: alluvium_store::Result<T>, absent: T) -> alluvium_store::Result<T> {
    match read {
        Err(alluvium_store::Error::NoSuchTree(_)) => Ok(absent),
        read => read,
    }
}

/// The document of a key and a row.
///
/// # Errors
/// [`Error::DamagedDocument`].
pub fn decode(shapes: &Arc<ShapeTable>, name: &FullName, key: &[u8], row: Vec<u8>) -> Result<Document> {
    Document::from_row(shapes, key, row).map_err(|error| damaged_key(name, key, &error))
}

/// The error for damage in the document with this key.
pub(crate) fn damaged_key(name: &FullName, key: &[u8], error: &RowError) -> Error {
    Error::DamagedDocument { collection: name.to_string(), id: ids::key_text(key), reason: error.to_string() }
}

/// As [`decode`]; copies the row.
///
/// # Errors
/// As [`decode`].
pub fn decode_copy(shapes: &Arc<ShapeTable>, name: &FullName, key: &[u8], row: &[u8]) -> Result<Document> {
    let mut copy = Document::row_buffer(row.len(), key);
    copy.extend_from_slice(row);
    decode(shapes, name, key, copy)
}

/// Returns a function that makes the error for damage in a document, if the damage is found after the document was
/// read.
pub(crate) fn damaged(name: &FullName, document: &Document) -> impl Fn(RowError) -> Error {
    move |error| Error::DamagedDocument {
        collection: name.to_string(),
        id: id_text(document.id()),
        reason: error.to_string(),
    }
}

/// A document that was read, as a value of a type.
///
/// # Errors
/// [`Error::DamagedDocument`]; [`Error::UnfittingDocument`] if it does not fit the type.
pub fn from_document<T: FromDocument>(name: &FullName, document: Document) -> Result<T> {
    T::from_document(document).map_err(|error| no_value(name, std::any::type_name::<T>(), error))
}

#[cold]
fn no_value(name: &FullName, type_name: &'static str, error: FromDocumentError) -> Error {
    let (collection, id) = (name.to_string(), id_text(&error.id));
    match error.reason {
        DocumentError::Row(damage) => Error::DamagedDocument { collection, id, reason: damage.to_string() },
        reason => Error::UnfittingDocument { collection, id, type_name, reason: reason.to_string() },
    }
}

/// True if a document that was read matches.
pub(crate) fn matches(filter: &Filter, name: &FullName, document: &Document) -> Result<bool> {
    filter.matches(document).map_err(|error| match error {
        MatchError::Damaged(error) => damaged(name, document)(error),
        MatchError::Filter(error) => error.of_document(document.id()).into(),
    })
}

/// Decodes a stored document completely, and returns its `_id`, which must match its key.
pub(crate) fn check(shapes: &Arc<ShapeTable>, name: &FullName, key: &[u8], row: &[u8]) -> Result<Value> {
    let damaged =
        |reason: String| Error::DamagedDocument { collection: name.to_string(), id: ids::key_text(key), reason };
    let document = Document::from_row(shapes, key, row.to_vec()).map_err(|e| damaged(e.to_string()))?;
    document.to_map().map_err(|e| damaged(e.to_string()))?;
    match ids::id_key(document.id())? == key {
        true => Ok(document.id().clone()),
        false => Err(damaged(format!("its _id field is {}, which is not the _id of its key", id_text(document.id())))),
    }
}

/// The same error, with the `_id` that was looked up.
pub fn with_id(mut error: Error, wanted: &Value) -> Error {
    if let Error::DamagedDocument { id, .. } = &mut error {
        *id = id_text(wanted);
    }
    error
}

/// The `_id` of a document and the values at some paths, each under its path.
///
/// # Errors
/// [`Error::DamagedDocument`].
pub fn fields_of(document: &Document, paths: &[&str], name: &FullName) -> Result<Map> {
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

//! Write batches over collections.

use crate::catalog::Open;
use crate::error::id_text;
use crate::write::{self, mark_shapes, put_shapes};
use crate::{Collection, Database, Durability, Error, IntoDocument, Result};
use document::row::encode_row;
use document::shape::Shape;
use document::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use store::{LockMode, TreeId};

/// Puts, inserts, deletes and blind updates over any collections of a database: all of them happen, at one
/// moment, or none. Operations on one document take effect in their order.
///
/// ```
/// # fn main() -> alluvium::Result<()> {
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let mut batch = db.write_batch();
/// batch.put(&db.collection("accounts"), "ada", r#"{"balance": 10}"#)?;
/// batch.put(&db.collection("log"), 1, r#"{"what": "paid"}"#)?;
/// batch.commit()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a batch does nothing until `commit`"]
pub struct WriteBatch {
    database: Database,
    operations: Vec<(Collection, Operation)>,
    durability: Durability,
}

enum Operation {
    Put(Map),
    Insert(Map),
    Delete(Value),
    /// The `_id`, and the update as a delta.
    Apply(Value, Vec<u8>),
}

impl WriteBatch {
    pub(crate) fn new(database: Database) -> Self {
        let durability = database.inner.store.options().durability;
        Self { database, operations: Vec::new(), durability }
    }

    /// Acknowledges the batch at another point than the database's default.
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Puts a document under `id`, as [`Collection::put`].
    ///
    /// # Errors
    /// [`Error::InvalidDocument`], [`Error::InvalidId`], [`Error::Json`].
    pub fn put(&mut self, collection: &Collection, id: impl Into<Value>, document: impl IntoDocument) -> Result<()> {
        let mut map = document.into_map()?;
        write::set_id(&mut map, id.into())?;
        self.operations.push((collection.clone(), Operation::Put(map)));
        Ok(())
    }

    /// Inserts a document, as [`Collection::insert_one`]; returns its `_id`. Whether the `_id` is
    /// taken is found out by [`WriteBatch::commit`].
    ///
    /// # Errors
    /// [`Error::InvalidDocument`], [`Error::Json`].
    pub fn insert(&mut self, collection: &Collection, document: impl IntoDocument) -> Result<Value> {
        let mut map = document.into_map()?;
        write::ensure_id(&mut map, &self.database.inner.env);
        let id = map.get("_id").cloned().unwrap_or(Value::Null);
        self.operations.push((collection.clone(), Operation::Insert(map)));
        Ok(id)
    }

    /// Deletes a document, as [`Collection::delete`].
    ///
    /// # Errors
    /// [`Error::InvalidId`].
    pub fn delete(&mut self, collection: &Collection, id: impl Into<Value>) -> Result<()> {
        let id = id.into();
        write::id_key(&id)?;
        self.operations.push((collection.clone(), Operation::Delete(id)));
        Ok(())
    }

    /// Applies an update blind, as [`Collection::apply`].
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::Update`].
    pub fn apply(&mut self, collection: &Collection, id: impl Into<Value>, update: impl IntoDocument) -> Result<()> {
        let id = id.into();
        write::id_key(&id)?;
        let delta = collection.delta(update)?;
        self.operations.push((collection.clone(), Operation::Apply(id, delta)));
        Ok(())
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True if there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Writes the batch.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] for an insert; or as for any write. Nothing of the batch happened
    /// then, unless the error is [`crate::ErrorKind::OutcomeUnknown`].
    pub fn commit(self) -> Result<()> {
        loop {
            match self.try_commit() {
                // A collection was dropped meanwhile: it is looked up, or created, again.
                Err(Error::Store(store::Error::NoSuchTree(_))) => {}
                result => return result,
            }
        }
    }

    fn try_commit(&self) -> Result<()> {
        let store = &self.database.inner.store;
        let mut batch = store.batch();
        let mut shapes: Vec<(Arc<Open>, Vec<Arc<Shape>>)> = Vec::new();
        let mut inserts: Vec<(Arc<Open>, Vec<u8>, String)> = Vec::new();
        // Whether the last operation on a document has left it there.
        let mut left: HashMap<(TreeId, Vec<u8>), bool> = HashMap::new();
        let mut locks = Vec::new();
        let mut row = Vec::new();
        for (collection, operation) in &self.operations {
            let open = collection.open_or_create()?;
            let (key, mode) = match operation {
                Operation::Delete(id) => {
                    let key = write::id_key(id)?;
                    batch.delete(open.documents, &key);
                    left.insert((open.documents, key.clone()), false);
                    (key, LockMode::Shared)
                }
                Operation::Apply(id, delta) => {
                    let key = write::id_key(id)?;
                    batch.delta(open.documents, &key, delta);
                    (key, LockMode::Shared)
                }
                Operation::Put(map) | Operation::Insert(map) => {
                    let (key, id) = write::checked_key(map)?;
                    row.clear();
                    let mut new_shapes = Vec::new();
                    encode_row(map, &open.shapes, None, &mut row, &mut new_shapes)
                        .map_err(|e| Error::InvalidDocument(e.to_string()))?;
                    batch.put(open.documents, &key, &row);
                    shapes.push((open.clone(), new_shapes));
                    let insert = matches!(operation, Operation::Insert(_));
                    let before = left.insert((open.documents, key.clone()), true);
                    if insert {
                        let name = collection.full_name()?;
                        match before {
                            Some(true) => return Err(Error::DuplicateKey { collection: name, id: id_text(id) }),
                            Some(false) => {}
                            None => inserts.push((open.clone(), key.clone(), name)),
                        }
                    }
                    (key, if insert { LockMode::Exclusive } else { LockMode::Shared })
                }
            };
            locks.push((open.documents, key, mode));
        }
        for (open, new_shapes) in &shapes {
            put_shapes(&mut batch, open, new_shapes);
        }
        let _admitted = store.admit(batch.encoded_bytes())?;
        let guard = store.lock_all(locks.iter().map(|(t, k, m)| (*t, k.as_slice(), *m)));
        for (open, key, name) in inserts {
            if store.contains(open.documents, &key)? {
                return Err(Error::DuplicateKey { collection: name, id: crate::read::key_text(&key) });
            }
        }
        store.write_locked(batch, self.durability, &guard)?;
        for (open, new_shapes) in &shapes {
            mark_shapes(open, new_shapes);
        }
        Ok(())
    }
}

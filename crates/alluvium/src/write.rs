//! Documents on their way into a batch: `_id`, row, and the shapes that the row needs.

use crate::catalog::{Open, shape_key};
use crate::error::id_text;
use crate::index::{Entries, mark_multikey};
use crate::names::FullName;
use crate::{Durability, Error, MAX_DOCUMENT_BYTES, Result, new_object_id};
use alluvium_document::row::encode_row;
use alluvium_document::shape::Shape;
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_env::Env;
use alluvium_store::{LockGuard, LockMode, Store, WriteBatch};
use std::sync::Arc;

/// The field that identifies a document.
const ID: &str = "_id";

/// A buffer for rows of more bytes is not kept.
const KEEP_ROW: usize = 1 << 20;

/// Makes `_id` a document's first field; without one, a fresh one.
pub(crate) fn ensure_id(map: &mut Map, env: &Env) {
    if !move_id(map) {
        let id = Value::ObjectId(new_object_id(env));
        map.entries.insert(0, (Value::from(ID), id));
    }
}

/// Sets a document's `_id`, its first field; one that it has must be equal.
pub(crate) fn set_id(map: &mut Map, id: Value) -> Result<()> {
    match map.get(ID) {
        Some(own) if alluvium_document::compare::equal(own, &id) => {}
        Some(own) => {
            let what = format!("the document has _id {}, which is not {}", id_text(own), id_text(&id));
            return Err(Error::InvalidId { code: 2, what });
        }
        None => map.entries.insert(0, (Value::from(ID), id)),
    }
    move_id(map);
    Ok(())
}

/// As [`set_id`], for a document that is stored under this `_id`: that stays, also in its type.
pub(crate) fn keep_id(map: &mut Map, id: Value) -> Result<()> {
    set_id(map, id.clone())?;
    // It is the first field now.
    if let Some((_, own)) = map.entries.first_mut() {
        *own = id;
    }
    Ok(())
}

/// Moves the `_id` to the front; false if there is none.
fn move_id(map: &mut Map) -> bool {
    match map.entries.iter().position(|(name, _)| name.as_str() == Some(ID)) {
        Some(at) => {
            map.entries[..=at].rotate_right(1);
            true
        }
        None => false,
    }
}

/// The key of an `_id`.
pub(crate) fn id_key(id: &Value) -> Result<Vec<u8>> {
    alluvium_document::key::id_key(id).map_err(|error| {
        let code = if matches!(error, alluvium_document::key::IdError::Dollar(_)) { 52 } else { 2 };
        Error::InvalidId { code, what: error.to_string() }
    })
}

/// The key and `_id` of a document that is within the limits.
pub(crate) fn checked_key(map: &Map) -> Result<(Vec<u8>, &Value)> {
    let id = map.get(ID).ok_or_else(|| Error::InvalidDocument("it has no _id".to_owned()))?;
    let key = id_key(id)?;
    check_size(alluvium_document::bson::document_size(map))?;
    Ok((key, id))
}

fn check_size(size: usize) -> Result<()> {
    if size > MAX_DOCUMENT_BYTES {
        let what = format!("it has {size} bytes as BSON; the limit is {MAX_DOCUMENT_BYTES}");
        return Err(Error::InvalidDocument(what));
    }
    Ok(())
}

/// A batch of one collection, with what has to be remembered until it is visible.
pub(crate) struct Encoded<'n> {
    /// The collection's name.
    name: &'n FullName,
    pub batch: WriteBatch,
    /// The keys of the documents, in their order.
    pub keys: Vec<Vec<u8>>,
    new_shapes: Vec<Arc<Shape>>,
    /// So many of them are in the batch.
    shapes_put: usize,
    row: Vec<u8>,
    pub entries: Entries,
}

impl<'n> Encoded<'n> {
    /// A batch under the indexes that the collection has now.
    pub fn new(store: &Store, open: &Open, name: &'n FullName) -> Self {
        let mut batch = store.batch();
        let entries = Entries::new(open.indexes());
        batch.expect_schema(open.documents, entries.schema());
        Self { name, batch, keys: Vec::new(), new_shapes: Vec::new(), shapes_put: 0, row: Vec::new(), entries }
    }

    /// Adds a put of a document that has its `_id`.
    pub fn put(&mut self, open: &Open, map: &Map, id_copy: Option<&str>) -> Result<()> {
        let (key, _) = checked_key(map)?;
        self.row.clear();
        encode_row(map, &open.shapes, id_copy, &mut self.row, &mut self.new_shapes)
            .map_err(|e| Error::InvalidDocument(e.to_string()))?;
        self.put_row(open, &key);
        self.entries.put(&mut self.batch, &key, map, self.name)?;
        self.keys.push(key);
        Ok(())
    }

    /// Adds a put of the row that has been encoded.
    fn put_row(&mut self, open: &Open, key: &[u8]) {
        self.batch.put(open.documents, key, &self.row);
        if self.row.capacity() > KEEP_ROW {
            self.row = Vec::new();
        }
    }

    /// Adds a put of a changed document that was `before`; `key` is its key.
    pub fn put_changed(&mut self, open: &Open, key: Vec<u8>, before: &Document, draft: Draft) -> Result<()> {
        if self.entries.is_empty() {
            return self.put_draft(open, key, draft);
        }
        draft.bson_size_over(MAX_DOCUMENT_BYTES)?.map_or(Ok(()), check_size)?;
        let id = draft.id().clone();
        let id_copy = draft.id_copy().map(str::to_owned);
        let mut map = draft.into_map()?;
        keep_id(&mut map, id)?;
        self.row.clear();
        encode_row(&map, &open.shapes, id_copy.as_deref(), &mut self.row, &mut self.new_shapes)
            .map_err(|e| Error::InvalidDocument(e.to_string()))?;
        self.put_row(open, &key);
        self.entries.change(&mut self.batch, (&key, self.name), before, Some(&map), true)?;
        self.keys.push(key);
        Ok(())
    }

    /// Adds a delta: of a document that was read and what it makes of it, if index entries may change.
    pub fn delta_changed(
        &mut self,
        open: &Open,
        key: &[u8],
        delta: &[u8],
        changed: Option<(&Document, &Draft)>,
    ) -> Result<()> {
        self.batch.delta(open.documents, key, delta);
        let Some((before, after)) = changed.filter(|_| !self.entries.is_empty()) else { return Ok(()) };
        let mut fields = Map::new();
        for index in &self.entries.set().indexes {
            for name in index.fields() {
                if !fields.contains(name)
                    && let Some(value) = after.get(name)?
                {
                    fields.push(name, value);
                }
            }
        }
        self.entries.change(&mut self.batch, (key, self.name), before, Some(&fields), false)
    }

    /// Adds a put of a changed document; `key` is that of the document as it was.
    fn put_draft(&mut self, open: &Open, key: Vec<u8>, draft: Draft) -> Result<()> {
        draft.bson_size_over(MAX_DOCUMENT_BYTES)?.map_or(Ok(()), check_size)?;
        self.row.clear();
        if draft.encode_row(&open.shapes, &mut self.row, &mut self.new_shapes)? {
            self.put_row(open, &key);
            self.keys.push(key);
            return Ok(());
        }
        // The stored `_id`, not the one asked for: 1 finds 1.0, and 1.0 it stays.
        let id = draft.id().clone();
        let id_copy = draft.id_copy().map(str::to_owned);
        let mut map = draft.into_map()?;
        keep_id(&mut map, id)?;
        self.put(open, &map, id_copy.as_deref())
    }

    /// Adds a delete, without looking what there is.
    pub fn delete(&mut self, open: &Open, key: &[u8]) {
        self.batch.delete(open.documents, key);
        self.entries.forget(key);
    }

    /// Adds a delete of a document that was read.
    pub fn delete_found(&mut self, open: &Open, key: &[u8], before: &Document) -> Result<()> {
        self.batch.delete(open.documents, key);
        self.entries.change(&mut self.batch, (key, self.name), before, None, true)
    }

    /// What is to be seen to before the first lock is taken: see [`mark_multikey`].
    pub fn prepare(&mut self, store: &Store, open: &Open) -> Result<()> {
        match self.entries.take_multikey() {
            marks if marks.is_empty() => Ok(()),
            marks => mark_multikey(store, open, &marks),
        }
    }

    /// Locks the documents, and the unique keys that they have.
    pub fn lock(&self, store: &Store, open: &Open, mode: LockMode) -> LockGuard {
        let documents = self.keys.iter().map(|key| (open.documents, key.as_slice(), mode));
        let claimed = self.entries.claimed().map(|(tree, key)| (tree, key, LockMode::Exclusive));
        store.lock_all(documents.chain(claimed))
    }

    /// Errors if one of the documents is in the collection, or twice in the batch. The caller holds
    /// exclusive locks on the keys. Nobody is told that a document is there when it may be one whose outcome is unknown.
    pub fn refuse_existing(&self, store: &Store, open: &Open, maps: &[Map]) -> Result<()> {
        let mut sorted: Vec<&Vec<u8>> = self.keys.iter().collect();
        sorted.sort_unstable();
        let any_twice = sorted.windows(2).any(|two| two[0] == two[1]);
        let twice = |key: &Vec<u8>| {
            let at = sorted.partition_point(|k| *k < key);
            sorted.get(at + 1) == Some(&key)
        };
        for (key, map) in self.keys.iter().zip(maps) {
            if (any_twice && twice(key)) || store.contains(open.documents, key)? {
                store.check_writable()?;
                let id = map.get(ID).map(id_text).unwrap_or_default();
                return Err(Error::DuplicateKey { collection: self.name.to_string(), id });
            }
        }
        Ok(())
    }

    /// The bytes that [`Encoded::commit`] is about to write.
    pub fn bytes(&mut self, open: &Open) -> usize {
        put_shapes(&mut self.batch, open, &self.new_shapes[self.shapes_put..]);
        self.shapes_put = self.new_shapes.len();
        self.batch.encoded_bytes()
    }

    /// Writes the batch, with the definitions of the shapes that are not visible yet. The caller holds the locks.
    pub fn commit_locked(
        mut self,
        store: &Store,
        open: &Open,
        durability: Durability,
        locks: &LockGuard,
    ) -> Result<()> {
        self.bytes(open);
        store.write_locked(self.batch, durability, locks)?;
        mark_shapes(open, &self.new_shapes);
        Ok(())
    }

    /// Writes a batch that does not depend on what is there, but for unique keys.
    pub fn commit_blind(mut self, store: &Store, open: &Open, durability: Durability) -> Result<()> {
        self.prepare(store, open)?;
        let bytes = self.bytes(open);
        if self.entries.has_claims() {
            let _admitted = store.admit(bytes)?;
            let locks = self.lock(store, open, LockMode::Shared);
            self.entries.check_unique(store, open, self.name)?;
            return self.commit_locked(store, open, durability, &locks);
        }
        store.write(self.batch, durability)?;
        mark_shapes(open, &self.new_shapes);
        Ok(())
    }
}

/// Adds the definitions of shapes to a batch whose rows use them. Until a definition is visible,
/// every batch that uses it carries it, so no row is ever without its shape.
pub(crate) fn put_shapes(batch: &mut WriteBatch, open: &Open, shapes: &[Arc<Shape>]) {
    open.note_shapes();
    let mut definition = Vec::new();
    for shape in shapes {
        definition.clear();
        shape.encode(&mut definition);
        batch.put(open.system, &shape_key(shape.number()), &definition);
    }
}

/// The batch is visible: further batches need not carry the definitions.
pub(crate) fn mark_shapes(open: &Open, shapes: &[Arc<Shape>]) {
    for shape in shapes {
        open.shapes.mark_committed(shape.number());
    }
}

//! The shapes of recorded rows. The history has a copy of each definition that its rows use, since a collection may be
//! dropped before its changes are read.
//!
//! A copy is an entry whose key begins with the number 0, so it is before all changes, and behind it has the tree of the
//! collection's documents and the number of the shape. It is in the batch of the first row that uses the shape, and in
//! those of later rows until it is visible.

use super::Change;
use crate::error::Result;
use alluvium_document::row::shapes_used;
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_env::sync::Mutex;
use alluvium_store::{Bounds, Durability, Seq, Snapshot, Store, TreeId, WriteBatch};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// The number of collections whose shapes are kept for readers.
const KEPT: usize = 64;

/// The table for entries without rows.
static NO_SHAPES: ShapeTable = ShapeTable::new(ShapeOptions::DEFAULT);

/// The key of the copy of a shape's definition.
fn copy_key(documents: TreeId, shape: u32) -> Vec<u8> {
    let mut key = 0u64.to_be_bytes().to_vec();
    key.extend_from_slice(&documents.0.to_be_bytes());
    key.extend_from_slice(&shape.to_be_bytes());
    key
}

/// The keys of the copies for collections from one on, up to those of another, or all.
fn copies(from: TreeId, to: Option<TreeId>) -> Bounds {
    let (lower, upper) = (Bound::Included(copy_key(from, 0)), Bound::Excluded(end_of_copies(to)));
    Bounds { lower, upper, reverse: false }
}

/// The first key after the copies for the collections before this one, or after all copies.
fn end_of_copies(to: Option<TreeId>) -> Vec<u8> {
    to.map_or_else(|| Change::key(1), |to| copy_key(to, 0))
}

fn next(tree: TreeId) -> Option<TreeId> {
    tree.0.checked_add(1).map(TreeId)
}

/// The copies of definitions that a batch has to have, because rows of its changes use them.
#[derive(Default)]
pub(crate) struct NewCopies {
    /// By their keys.
    copies: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl NewCopies {
    /// Adds the copies for a row of a collection that the history does not have yet.
    ///
    /// # Errors
    /// Errors of reading the history.
    pub fn add(
        &mut self,
        store: &Store,
        history: TreeId,
        documents: TreeId,
        shapes: &ShapeTable,
        row: &[u8],
    ) -> Result<()> {
        let mut missing = Vec::new();
        // What is damaged in a row is found by its readers.
        let _ = shapes_used(row, &mut |number| {
            if let Some(shape) = shapes.get(number).filter(|shape| !shape.is_copied_to(history.0)) {
                missing.push(shape);
            }
        });
        for shape in missing {
            let key = copy_key(documents, shape.number());
            if self.copies.contains_key(&key) {
                continue;
            }
            let only =
                Bounds { lower: Bound::Included(key.clone()), upper: Bound::Included(key.clone()), reverse: false };
            if store.scan(history, only, None)?.next()?.is_some() {
                shape.note_copy(history.0);
                continue;
            }
            let mut definition = Vec::new();
            shape.encode(&mut definition);
            self.copies.insert(key, definition);
        }
        Ok(())
    }

    /// Adds the copies to a batch, which is not empty.
    pub fn put(&self, history: TreeId, batch: &mut WriteBatch) {
        self.copies.iter().for_each(|(key, definition)| batch.put_entry(history, key, definition));
    }
}

/// The shapes of the collections whose changes were read.
#[derive(Default)]
pub(crate) struct RecordedShapes {
    /// By the history and the collection.
    tables: Mutex<HashMap<(TreeId, u64), Arc<ShapeTable>>>,
    /// The dropped collections of which there are copies, with a number that is above all their changes.
    dropped: Mutex<HashMap<TreeId, Seq>>,
}

impl RecordedShapes {
    /// Decodes an entry of the history; `None` if it is damaged.
    ///
    /// # Errors
    /// Errors of reading the shapes, as they are at the snapshot, or now.
    pub fn decode(
        &self,
        store: &Store,
        history: TreeId,
        at: Option<&Snapshot>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Change>> {
        let Some(collection) = Change::collection_of_rows(value) else {
            return Ok(Change::decode(key, value, &NO_SHAPES));
        };
        let known = self.tables.lock().get(&(history, collection)).cloned();
        if let Some(change) = known.and_then(|table| Change::decode(key, value, &table)) {
            return Ok(Some(change));
        }
        // A shape is new, or the entry is damaged.
        let Some(table) = read_shapes(store, history, collection, at)? else { return Ok(None) };
        let (table, mut tables) = (Arc::new(table), self.tables.lock());
        if tables.len() >= KEPT {
            tables.clear();
        }
        tables.insert((history, collection), table.clone());
        drop(tables);
        Ok(Change::decode(key, value, &table))
    }

    /// Removes all copies, before the first change that will be read.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn remove_all(&self, store: &Store, history: TreeId) -> Result<()> {
        remove(store, history, TreeId(0), None)
    }

    /// Removes the copies for dropped collections whose changes are all removed: those up to `since`. `is_live` says
    /// whether the documents of a collection have this tree.
    ///
    /// # Errors
    /// Errors of reading and writing.
    pub fn remove_dropped(
        &self,
        store: &Store,
        history: TreeId,
        since: Seq,
        is_live: impl Fn(TreeId) -> bool,
    ) -> Result<()> {
        let mut from = Some(TreeId(0));
        while let Some(first) = from {
            let found = store.scan(history, copies(first, None), None)?.next()?.map(|(key, _)| collection_of(key));
            let Some(Some(collection)) = found else { break };
            from = next(collection);
            if is_live(collection) {
                self.dropped.lock().remove(&collection);
                continue;
            }
            // The collection was dropped before this number.
            let visible = store.visible();
            let last = *self.dropped.lock().entry(collection).or_insert(visible);
            if last <= since {
                remove(store, history, collection, from)?;
                self.dropped.lock().remove(&collection);
            }
        }
        Ok(())
    }
}

/// Removes the copies for collections from one on, up to those of another, or all.
fn remove(store: &Store, history: TreeId, from: TreeId, to: Option<TreeId>) -> Result<()> {
    let mut batch = store.batch();
    batch.delete_range(history, &copy_key(from, 0), &end_of_copies(to));
    store.write(batch, Durability::Periodic)?;
    Ok(())
}

/// The collection of a copy with this key.
fn collection_of(key: &[u8]) -> Option<TreeId> {
    Some(TreeId(u32::from_be_bytes(*key.get(size_of::<u64>()..)?.first_chunk()?)))
}

/// The shapes of a collection of which the history has copies; `None` if these are damaged.
fn read_shapes(store: &Store, history: TreeId, collection: u64, at: Option<&Snapshot>) -> Result<Option<ShapeTable>> {
    let Ok(documents) = u32::try_from(collection).map(TreeId) else { return Ok(None) };
    let mut scan = store.scan(history, copies(documents, next(documents)), at)?;
    let mut shapes = Vec::new();
    while let Some((_, mut definition)) = scan.next()? {
        let Ok(shape) = Shape::decode(&mut definition) else { return Ok(None) };
        shapes.push(shape);
    }
    Ok(ShapeTable::open(ShapeOptions::DEFAULT, shapes, 1).ok())
}

//! The shapes of recorded rows. The history has a copy of each definition that its rows use, since a collection may be
//! dropped before its changes are read.
//!
//! A copy is an entry whose key begins with the number 0, so it is before all changes, and behind it has the tree of the
//! collection's documents and the number of the shape. It is in the batch of the first row that uses the shape, and in
//! those of later rows until it is visible.

use super::Change;
use crate::error::Result;
use alluvium_document::row::{RowError, shapes_used};
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_env::sync::Mutex;
use alluvium_store::{Bounds, Seq, Snapshot, Store, TreeId, WriteBatch};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// The number of collections whose shapes are kept for readers.
const KEPT: usize = 64;
/// The number in the key of a mark, which no shape has.
const MARK: u32 = 0;

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
    /// Adds the copies for a row of a collection that the history does not have yet. Returns the damage of the row, which
    /// no reader could decode.
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
    ) -> Result<std::result::Result<(), RowError>> {
        let (mut missing, mut unknown) = (Vec::new(), None);
        let used = shapes_used(row, &mut |number| match shapes.get(number) {
            Some(shape) if shape.is_copied_to(history.0) => {}
            Some(shape) => missing.push(shape),
            None => unknown = Some(RowError::UnknownShape(number)),
        });
        if let Some(damage) = used.err().map(RowError::from).or(unknown) {
            return Ok(Err(damage));
        }
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
        Ok(Ok(()))
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
}

impl RecordedShapes {
    /// Decodes an entry of the history; `None` if it is damaged.
    ///
    /// # Errors
    /// Errors of reading the shapes, as they are at the snapshot.
    pub fn decode(
        &self,
        store: &Store,
        history: TreeId,
        at: &Snapshot,
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
        if tables.len() >= KEPT
            && let Some(any) = tables.keys().next().copied()
        {
            tables.remove(&any);
        }
        tables.insert((history, collection), table.clone());
        drop(tables);
        Ok(Change::decode(key, value, &table))
    }
}

/// Adds to a batch that removes all changes up to `since` the removal of the copies for dropped collections, as soon as
/// all their changes are among these. `live` returns the trees of documents of the collections that exist; it is called
/// after the copies are read, so a collection that is not among them was dropped.
///
/// A collection that is first found missing gets a mark: the number of the mark is above all its changes.
///
/// # Errors
/// Errors of reading the history.
pub(crate) fn remove_dropped(
    store: &Store,
    history: TreeId,
    since: Seq,
    batch: &mut WriteBatch,
    live: impl FnOnce() -> HashSet<TreeId>,
) -> Result<()> {
    let mut marked: BTreeMap<TreeId, Option<Seq>> = BTreeMap::new();
    let mut scan = store.scan(history, copies(TreeId(0), None), None)?;
    while let Some((key, _)) = scan.next()? {
        let Some((collection, number)) = place_of(key) else { continue };
        let mark = marked.entry(collection).or_default();
        if number == MARK {
            *mark = Some(scan.version());
        }
    }
    let live = live();
    for (collection, mark) in marked.into_iter().filter(|(collection, _)| !live.contains(collection)) {
        let key = copy_key(collection, MARK);
        match mark {
            None => batch.put_entry(history, &key, &[]),
            Some(number) if number <= since => batch.delete_range(history, &key, &end_of_copies(next(collection))),
            Some(_) => {}
        }
    }
    Ok(())
}

/// The collection and the number of the shape of a copy with this key.
fn place_of(key: &[u8]) -> Option<(TreeId, u32)> {
    let (collection, number) = key.get(size_of::<u64>()..)?.split_first_chunk()?;
    Some((TreeId(u32::from_be_bytes(*collection)), u32::from_be_bytes(number.try_into().ok()?)))
}

/// The shapes of a collection of which the history has copies; `None` if these are damaged.
fn read_shapes(store: &Store, history: TreeId, collection: u64, at: &Snapshot) -> Result<Option<ShapeTable>> {
    let Ok(documents) = u32::try_from(collection).map(TreeId) else { return Ok(None) };
    let mut scan = store.scan(history, copies(documents, next(documents)), Some(at))?;
    let mut shapes = Vec::new();
    while let Some((key, mut definition)) = scan.next()? {
        if place_of(key).is_some_and(|(_, number)| number == MARK) {
            continue;
        }
        let Ok(shape) = Shape::decode(&mut definition) else { return Ok(None) };
        shapes.push(shape);
    }
    Ok(ShapeTable::open(ShapeOptions::DEFAULT, shapes, 1).ok())
}

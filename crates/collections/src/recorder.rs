//! Adds the changes that a batch makes to it.

use crate::error::{Error, Result};
use crate::history::{Event, NewEvent};
use crate::ids::{ID, key_text};
use crate::names::FullName;
use crate::read::{Reader, damaged_key};
use crate::state::CollectionState;
use alluvium_document::diff::Difference;
use alluvium_document::row::{RowError, ValueRef};
use alluvium_document::{Document, Draft, Map, Value, encoding};
use alluvium_store::{BatchWrite, Snapshot, Store, TreeId, WriteBatch};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A collection that a batch writes to.
pub(crate) struct Target<'a> {
    pub name: &'a FullName,
    pub state: &'a Arc<CollectionState>,
    /// The history, if the collection is recorded.
    pub history: Option<TreeId>,
}

/// The events of a batch so far.
#[derive(Default)]
pub(crate) struct Recorder {
    /// The documents as they are before the next operation: those that a write has read, and those that the operations
    /// so far have written.
    current: HashMap<(TreeId, Vec<u8>), Option<Document>>,
    /// The count of operations whose events are in the batch.
    done: usize,
    /// The puts that write the result of an update.
    updates: HashSet<usize>,
    /// The fields of the transaction that the batch belongs to.
    transaction: Option<Map>,
}

/// A value that was read from a row, or the damage that was found.
type Decoded<T> = std::result::Result<T, RowError>;

/// The change of a document by an operation.
struct Effect {
    event: Event,
    /// The document before the change, if the collection keeps it.
    before: Option<Map>,
}

impl Recorder {
    /// The recorder of a statement of a transaction that was given these fields.
    pub fn in_transaction(fields: Option<Map>) -> Self {
        Self { transaction: fields, ..Self::default() }
    }

    /// Notes that the put with this place in the batch writes the result of an update.
    pub fn note_update(&mut self, place: usize) {
        self.updates.insert(place);
    }

    /// Notes the document that a write has read under its lock, or `None` for a key that the check of the write demands to
    /// be free. A document that an earlier operation of the batch has written is kept.
    pub fn note_before(&mut self, tree: TreeId, key: &[u8], before: Option<Document>) {
        self.current.entry((tree, key.to_vec())).or_insert(before);
    }

    /// Adds the events of the operations that were added since the last call. The caller holds the locks of all
    /// documents of recorded collections exclusively, or writes in a transaction that reads at `at`.
    ///
    /// # Errors
    /// Errors of reading the documents that the batch writes; [`Error::DamagedDocument`] if one is damaged.
    pub fn record(
        &mut self,
        store: &Store,
        at: Option<&Snapshot>,
        batch: &mut WriteBatch,
        targets: &[Target<'_>],
    ) -> Result<()> {
        let Some(history) = targets.iter().find_map(|target| target.history) else { return Ok(()) };
        let from = std::mem::replace(&mut self.done, batch.len());
        if from == batch.len() {
            return Ok(());
        }
        let time_ms = store.env().clock.unix_millis();
        batch.stamp_each(history, from, |place, write| {
            let is_of = |target: &&Target<'_>| target.history.is_some() && target.state.documents == write.tree();
            let Some(target) = targets.iter().find(is_of) else { return Ok(None) };
            let Some(Effect { event, before }) = self.effect(store, at, target, place, write)? else { return Ok(None) };
            let new = NewEvent {
                event: &event,
                documents: target.state.documents,
                name: target.name,
                time_ms,
                transaction: self.transaction.as_ref(),
                before: before.as_ref(),
            };
            Ok(Some(new.encode()))
        })
    }

    /// The change by an operation; `None` if it changes nothing.
    fn effect(
        &mut self,
        store: &Store,
        at: Option<&Snapshot>,
        target: &Target<'_>,
        place: usize,
        write: BatchWrite<'_>,
    ) -> Result<Option<Effect>> {
        let (name, key) = (target.name, write.key());
        let damaged = |error: RowError| damaged_key(name, key, &error);
        let document = (write.tree(), key.to_vec());
        let before = match self.current.remove(&document) {
            Some(known) => known,
            None => {
                let reader = Reader::of_write(store, target.state.clone(), name, at);
                reader.get_folded(key)?.map(|found| found.document)
            }
        };
        let after = match (write, &before) {
            (BatchWrite::Delete { .. }, _) | (BatchWrite::Delta { .. }, None) => None,
            (BatchWrite::Put { value, .. }, _) => {
                Some(Document::from_row(&target.state.shapes, key, value.to_vec()).map_err(damaged)?)
            }
            (BatchWrite::Delta { delta, .. }, Some(before)) => Some(updated(before, delta, target, key)?),
        };
        let event = match (&before, &after) {
            (None, None) => None,
            (None, Some(after)) => Some(Event::Insert { document: after.to_map().map_err(damaged)? }),
            (Some(before), None) => Some(Event::Delete { id: id_of(before).map_err(damaged)? }),
            (Some(before), Some(after)) => {
                let is_update = matches!(write, BatchWrite::Delta { .. }) || self.updates.contains(&place);
                changed(before, after, is_update).map_err(damaged)?
            }
        };
        self.current.insert(document, after);
        let Some(event) = event else { return Ok(None) };
        let keeps_before = target.state.indexes().options.keeps_before;
        let before = before.filter(|_| keeps_before).map(|before| before.to_map()).transpose().map_err(damaged)?;
        Ok(Some(Effect { event, before }))
    }
}

/// The document after a delta, which has no effect if it cannot be applied.
fn updated(before: &Document, delta: &[u8], target: &Target<'_>, key: &[u8]) -> Result<Document> {
    let damaged =
        |reason: String| Error::DamagedDocument { collection: target.name.to_string(), id: key_text(key), reason };
    let draft = Draft::new(before.clone()).map_err(|error| damaged(error.to_string()))?;
    let folded = alluvium_query::fold::fold(Some(draft), std::iter::once(delta));
    let Some(draft) = folded.map_err(|error| damaged(error.to_string()))?.draft else { return Ok(before.clone()) };
    let (shapes, mut row) = (&target.state.shapes, Vec::new());
    draft.encode_known_row(shapes, &mut row).map_err(|error| damaged(error.to_string()))?;
    Document::from_row(shapes, key, row).map_err(|error| damaged(error.to_string()))
}

/// The `_id` of a document; null without one.
fn id_of(document: &Document) -> Decoded<Value> {
    document.get(ID)?.map_or(Ok(Value::Null), |id| id.to_value())
}

/// The event of a document that is put in the place of another one with the same key; `None` if they are the same.
fn changed(before: &Document, after: &Document, is_update: bool) -> Decoded<Option<Event>> {
    if before.row() == after.row() {
        return Ok(None);
    }
    if is_update && let Some(difference) = difference_of_fields(before, after)? {
        let id = id_of(after)?;
        return Ok((!difference.is_empty()).then_some(Event::Update { id, difference }));
    }
    let (before, after) = (before.to_map()?, after.to_map()?);
    Ok(match is_update {
        _ if is_same(&before, &after) => None,
        true => Some(Event::of_update(&before, after)),
        false => Some(Event::Replace { document: after }),
    })
}

/// The difference between two documents that have the same fields in the same order, computed from those of their values
/// that may differ. `None` for other documents, and for those whose difference needs all fields.
fn difference_of_fields(before: &Document, after: &Document) -> Decoded<Option<Difference>> {
    let (before, after) = (before.map()?, after.map()?);
    let (Some(shape), Some(other)) = (before.shape(), after.shape()) else { return Ok(None) };
    if !std::ptr::eq(shape, other) {
        return Ok(None);
    }
    let (mut old, mut new) = (Map::default(), Map::default());
    for ((field, pair), other) in shape.fields().iter().zip(before.iter()).zip(after.iter()) {
        let ((_, one), (_, other)) = (pair?, other?);
        if &*field.name == ID || !is_same_scalar(&one, &other) {
            // The names of a shape are unique.
            old.push(&*field.name, one.to_value()?);
            new.push(&*field.name, other.to_value()?);
        }
    }
    Ok(Difference::between(&old, &new))
}

/// True if both are the same value of a type that has no other values inside. False is no proof that they differ.
fn is_same_scalar(one: &ValueRef<'_>, other: &ValueRef<'_>) -> bool {
    use ValueRef::{Binary, Bool, DateTime, Double, Int32, Int64, Null, ObjectId, String};
    match (one, other) {
        (Null, Null) => true,
        (Bool(one), Bool(other)) => one == other,
        (Int32(one), Int32(other)) => one == other,
        (Int64(one), Int64(other)) | (DateTime(one), DateTime(other)) => one == other,
        (Double(one), Double(other)) => one.to_bits() == other.to_bits(),
        (String(one), String(other)) => one == other,
        (ObjectId(one), ObjectId(other)) => one == other,
        (Binary(kind, one), Binary(other_kind, other)) => kind == other_kind && one == other,
        _ => false,
    }
}

/// True if two documents have the same bytes, the order of fields and the types of numbers included.
fn is_same(one: &Map, other: &Map) -> bool {
    let bytes = |map: &Map| {
        let mut bytes = Vec::new();
        encoding::encode_map(map, &mut bytes);
        bytes
    };
    bytes(one) == bytes(other)
}

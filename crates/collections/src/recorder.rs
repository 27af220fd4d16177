//! Adds the changes that a batch makes to it.

use crate::error::{Error, Result};
use crate::history::{Event, NewEvent};
use crate::ids::{ID, key_text};
use crate::names::FullName;
use crate::read::{Reader, damaged_key};
use crate::state::CollectionState;
use alluvium_document::row::RowError;
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
    /// The documents that the operations so far have written.
    current: HashMap<(TreeId, Vec<u8>), Option<Map>>,
    /// The count of operations whose events are in the batch.
    done: usize,
    /// The puts that write the result of an update.
    updates: HashSet<usize>,
    /// The fields of the transaction that the batch belongs to.
    transaction: Option<Map>,
}

/// The change of a document by an operation.
struct Effect {
    event: Event,
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
            let keeps_before = target.state.indexes().options.keeps_before;
            let new = NewEvent {
                event: &event,
                documents: target.state.documents,
                name: target.name,
                time_ms,
                transaction: self.transaction.as_ref(),
                before: before.as_ref().filter(|_| keeps_before),
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
                let found = reader.get_folded(key)?;
                found.map(|found| found.document.to_map()).transpose().map_err(damaged)?
            }
        };
        let after = match (write, &before) {
            (BatchWrite::Delete { .. }, _) | (BatchWrite::Delta { .. }, None) => None,
            (BatchWrite::Put { value, .. }, _) => {
                let row = Document::from_row(&target.state.shapes, key, value.to_vec());
                Some(row.and_then(|row| row.to_map()).map_err(damaged)?)
            }
            (BatchWrite::Delta { delta, .. }, Some(before)) => Some(updated(before, delta, name, key)?),
        };
        let event = match (&before, &after) {
            (None, None) => None,
            (None, Some(after)) => Some(Event::Insert { document: after.clone() }),
            (Some(before), None) => Some(Event::Delete { id: before.get(ID).cloned().unwrap_or(Value::Null) }),
            (Some(before), Some(after)) if is_same(before, after) => None,
            (Some(before), Some(after)) => {
                let is_update = matches!(write, BatchWrite::Delta { .. }) || self.updates.contains(&place);
                Some(match is_update {
                    true => Event::of_update(before, after.clone()),
                    false => Event::Replace { document: after.clone() },
                })
            }
        };
        self.current.insert(document, after);
        Ok(event.map(|event| Effect { event, before }))
    }
}

/// The document after a delta, which has no effect if it cannot be applied.
fn updated(before: &Map, delta: &[u8], name: &FullName, key: &[u8]) -> Result<Map> {
    let damaged = |reason: String| Error::DamagedDocument { collection: name.to_string(), id: key_text(key), reason };
    let document = Document::from_map(before).map_err(|error| damaged(error.to_string()))?;
    let draft = Draft::new(document).map_err(|error| damaged(error.to_string()))?;
    let folded = alluvium_query::fold::fold(Some(draft), std::iter::once(delta));
    match folded.map_err(|error| damaged(error.to_string()))?.draft {
        Some(draft) => draft.into_map().map_err(|error| damaged(error.to_string())),
        None => Ok(before.clone()),
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

//! Adds the changes that a batch makes to it.

use crate::error::{Error, Result};
use crate::history::{Content, DocumentChange, NewCopies, NewEvent};
use crate::ids::{ID, key_text};
use crate::names::FullName;
use crate::read::{Reader, damaged_key};
use crate::state::CollectionState;
use alluvium_document::diff::Difference;
use alluvium_document::row::{RowError, ValueRef};
use alluvium_document::{Document, Draft, Map, Value, encoding};
use alluvium_store::{BatchWrite, Snapshot, Store, TreeId, WriteBatch};
use std::collections::{HashMap, VecDeque};
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
    current: States,
    /// The count of operations whose events are in the batch.
    done: usize,
    /// The places of operations that write the result of an update, ascending, with the difference if it is known.
    updates: VecDeque<(usize, Option<Difference>)>,
    /// The fields of the transaction that the batch belongs to.
    transaction: Option<Map>,
}

/// A value that was read from a row, or the damage that was found.
type Decoded<T> = std::result::Result<T, RowError>;

/// The state of a document before an operation.
enum State {
    /// The document, or none.
    Is(Option<Document>),
    /// The document with this row.
    Row(Vec<u8>),
    /// A document, and a delta that was applied to it.
    Changed(Document, Vec<u8>),
}

/// The states of documents, by their keys.
#[derive(Default)]
struct States {
    /// The first ones. Few keys are compared faster than one is hashed.
    few: Vec<(TreeId, Vec<u8>, State)>,
    more: HashMap<(TreeId, Vec<u8>), State>,
}

/// The most documents in [`States::few`].
const FEW: usize = 8;

impl States {
    /// Takes the state of a document.
    fn take(&mut self, tree: TreeId, key: &[u8]) -> Option<State> {
        if let Some(at) = self.few.iter().position(|(of, known, _)| *of == tree && known == key) {
            return Some(self.few.swap_remove(at).2);
        }
        if self.more.is_empty() { None } else { self.more.remove(&(tree, key.to_vec())) }
    }

    /// Sets the state of a document that has none.
    fn set(&mut self, tree: TreeId, key: &[u8], state: State) {
        if self.few.len() < FEW {
            self.few.push((tree, key.to_vec(), state));
        } else {
            self.more.insert((tree, key.to_vec()), state);
        }
    }
}

/// The change of a document by an operation.
struct Changed {
    effect: Effect,
    before: Option<Document>,
    /// The document after the change, if the operation is a delta that replaces it.
    after: Option<Document>,
}

/// The effect of an operation on a document.
enum Effect {
    Insert,
    Update(Difference),
    Replace,
    Delete,
}

impl Recorder {
    /// The recorder of a statement of a transaction that was given these fields.
    pub fn in_transaction(fields: Option<Map>) -> Self {
        Self { transaction: fields, ..Self::default() }
    }

    /// Notes that the operation with this place in the batch writes the result of an update, and what it changes if that
    /// is known.
    pub fn note_update(&mut self, place: usize, difference: Option<Difference>) {
        // A statement that failed may have noted operations that are not in the batch any more.
        while self.updates.back().is_some_and(|(noted, _)| *noted >= place) {
            self.updates.pop_back();
        }
        self.updates.push_back((place, difference));
    }

    /// Notes the document that a write has read under its lock, or `None` for a key that the check of the write demands to
    /// be free. A document that an earlier operation of the batch has written is kept.
    pub fn note_before(&mut self, tree: TreeId, key: &[u8], before: Option<Document>) {
        let state = self.current.take(tree, key).unwrap_or(State::Is(before));
        self.current.set(tree, key, state);
    }

    /// Takes the note of the operation with this place; its inner `None` is a difference that is not known.
    fn take_update(&mut self, place: usize) -> Option<Option<Difference>> {
        while self.updates.front().is_some_and(|(noted, _)| *noted < place) {
            self.updates.pop_front();
        }
        self.updates.pop_front_if(|(noted, _)| *noted == place).map(|(_, difference)| difference)
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
        let mut copies = NewCopies::default();
        batch.stamp_each(history, from, |place, write| {
            let is_of = |target: &&Target<'_>| target.history.is_some() && target.state.documents == write.tree();
            let Some(target) = targets.iter().find(is_of) else { return Ok(None) };
            let Some(changed) = self.changed(store, at, target, place, write)? else { return Ok(None) };
            let keeps_before = target.state.indexes().options.keeps_before;
            let before = changed.before.as_ref().filter(|_| keeps_before).map(Document::row);
            let after = changed.row_after(write);
            let state = target.state;
            let damaged = |error: RowError| damaged_key(target.name, write.key(), &error);
            for row in before.iter().chain(&after) {
                copies.add(store, history, state.documents, &state.shapes, row)?.map_err(damaged)?;
            }
            let id = changed.id().map_err(damaged)?;
            let row = after.unwrap_or_default();
            let change = match changed.effect {
                Effect::Insert => DocumentChange::Insert(row),
                Effect::Update(difference) => DocumentChange::Update(&id, difference),
                Effect::Replace => DocumentChange::Replace(row),
                Effect::Delete => DocumentChange::Delete(&id),
            };
            let new = NewEvent {
                documents: state.documents,
                name: target.name,
                transaction: self.transaction.as_ref(),
                content: Content::Document { key: write.key(), before, change },
            };
            Ok::<_, Error>(Some(new.encode()))
        })?;
        copies.put(history, batch);
        Ok(())
    }

    /// The change by an operation; `None` if it changes nothing.
    fn changed(
        &mut self,
        store: &Store,
        at: Option<&Snapshot>,
        target: &Target<'_>,
        place: usize,
        write: BatchWrite<'_>,
    ) -> Result<Option<Changed>> {
        let (key, update) = (write.key(), self.take_update(place));
        let damaged = |error: RowError| damaged_key(target.name, key, &error);
        let before = self.before(store, at, target, write)?;
        let mut replaced_by = None;
        let (effect, after) = match (write, &before) {
            (BatchWrite::Delete { .. } | BatchWrite::Delta { .. }, None) => (None, State::Is(None)),
            (BatchWrite::Delete { .. }, Some(_)) => (Some(Effect::Delete), State::Is(None)),
            (BatchWrite::Put { value, .. }, None) => (Some(Effect::Insert), State::Row(value.to_vec())),
            (BatchWrite::Put { value, .. }, Some(before)) => {
                let after = || Document::from_row(&target.state.shapes, key, value);
                let effect = match update {
                    Some(Some(difference)) => {
                        debug_assert!(
                            after().and_then(|after| leads_to(&difference, before, &after)) != Ok(false),
                            "{difference:?} is not what was put"
                        );
                        Effect::of_difference(difference)
                    }
                    Some(None) => after().and_then(|after| updating(before, &after)).map_err(damaged)?,
                    None => after().and_then(|after| replacing(before, &after)).map_err(damaged)?,
                };
                (effect, State::Row(value.to_vec()))
            }
            (BatchWrite::Delta { delta, .. }, Some(before)) => match update.flatten() {
                Some(difference) => {
                    debug_assert!(
                        updated(before, delta, target, key)
                            .is_ok_and(|after| leads_to(&difference, before, &after) != Ok(false)),
                        "{difference:?} is not what {delta:02x?} changes"
                    );
                    (Effect::of_difference(difference), State::Changed(before.clone(), delta.to_vec()))
                }
                None => {
                    let after = updated(before, delta, target, key)?;
                    let effect = updating(before, &after).map_err(damaged)?;
                    replaced_by = Some(after.clone());
                    (effect, State::Is(Some(after)))
                }
            },
        };
        self.current.set(write.tree(), key, after);
        Ok(effect.map(|effect| Changed { effect, before, after: replaced_by }))
    }

    /// The document before an operation.
    fn before(
        &mut self,
        store: &Store,
        at: Option<&Snapshot>,
        target: &Target<'_>,
        write: BatchWrite<'_>,
    ) -> Result<Option<Document>> {
        let (name, key) = (target.name, write.key());
        let damaged = |error: RowError| damaged_key(name, key, &error);
        Ok(match self.current.take(write.tree(), key) {
            Some(State::Is(known)) => known,
            Some(State::Row(row)) => Some(Document::from_row(&target.state.shapes, key, row).map_err(damaged)?),
            Some(State::Changed(document, delta)) => Some(updated(&document, &delta, target, key)?),
            None => {
                let reader = Reader::of_write(store, target.state.clone(), name, at);
                reader.get_folded(key)?.map(|found| found.document)
            }
        })
    }
}

impl Changed {
    /// The row that is recorded, of the document after the change.
    fn row_after<'a>(&'a self, write: BatchWrite<'a>) -> Option<&'a [u8]> {
        match (&self.effect, write) {
            (Effect::Insert | Effect::Replace, BatchWrite::Put { value, .. }) => Some(value),
            (Effect::Replace, _) => self.after.as_ref().map(Document::row),
            _ => None,
        }
    }

    /// The `_id` of a document that is updated or deleted.
    fn id(&self) -> Decoded<Value> {
        match (&self.effect, &self.before) {
            (Effect::Update(_) | Effect::Delete, Some(before)) => id_of(before),
            _ => Ok(Value::Null),
        }
    }
}

impl Effect {
    fn of_difference(difference: Difference) -> Option<Self> {
        (!difference.is_empty()).then_some(Self::Update(difference))
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

/// The effect of an update; `None` if it changes nothing. A change without a difference is a replacement.
fn updating(before: &Document, after: &Document) -> Decoded<Option<Effect>> {
    if before.row() == after.row() {
        return Ok(None);
    }
    if let Some(difference) = difference_of_fields(before, after)? {
        return Ok(Effect::of_difference(difference));
    }
    let (before, after) = (before.to_map()?, after.to_map()?);
    if is_same(&before, &after) {
        return Ok(None);
    }
    Ok(match Difference::between(&before, &after) {
        Some(difference) => Effect::of_difference(difference),
        None => Some(Effect::Replace),
    })
}

/// True if a difference makes a document of another one.
fn leads_to(difference: &Difference, before: &Document, after: &Document) -> Decoded<bool> {
    let (mut document, after) = (before.to_map()?, after.to_map()?);
    Ok(difference.apply(&mut document).is_ok() && is_same(&document, &after))
}

/// The effect of a replacement; `None` if it changes nothing.
fn replacing(before: &Document, after: &Document) -> Decoded<Option<Effect>> {
    let is_same = before.row() == after.row() || is_same(&before.to_map()?, &after.to_map()?);
    Ok((!is_same).then_some(Effect::Replace))
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

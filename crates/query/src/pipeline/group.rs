//! `$group`: a document for each group.

mod fields;

use super::accumulator::{Accumulator, State};
use super::error::PipelineError;
use super::record::RecordRef;
use crate::collation::{Collation, encode_by};
use crate::expression::{Expression, LARGE_STORED_BYTES};
use alluvium_document::key::id_key;
use alluvium_document::path::FieldPath;
use alluvium_document::row::MapRef;
use alluvium_document::value::{Binary, Text};
use alluvium_document::{Map, Value, encoding};
use fields::GroupFields;
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use indexmap::map::raw_entry_v1::{RawEntryApiV1, RawEntryMut};
use std::sync::Arc;

/// A `$group` stage: its key, and the fields that are computed for each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub(super) id: Expression,
    pub(super) fields: Vec<(Text, Accumulator)>,
    /// The name of the field, if `_id` is a map of one field. In this case a missing value is null. In a map of several
    /// fields, missing values are left out, as in MongoDB.
    pub(super) only_field: Option<Text>,
    /// The collation that decides whether strings are equal; `None` to compare their bytes.
    pub(super) collation: Option<Collation>,
}

impl Group {
    /// The paths of a document that the stage reads; `None` if it may read the whole document.
    pub fn paths(&self) -> Option<Vec<&FieldPath>> {
        let mut paths = self.id.paths()?;
        for (_, accumulator) in &self.fields {
            paths.extend(accumulator.argument.paths()?);
            if let super::accumulator::Kind::Sorted { .. } = accumulator.kind {
                return None;
            }
        }
        Some(paths)
    }
}

impl Group {
    /// The path whose values are the keys of the groups; `None` if the keys are not the values at a path.
    pub(super) fn id_path(&self) -> Option<&FieldPath> {
        self.id.as_path()
    }

    /// The path at which one document of each value suffices; `None` if the stage needs more than that.
    pub fn distinct_path(&self) -> Option<&FieldPath> {
        self.id_path().filter(|_| self.fields.is_empty())
    }

    /// The path whose values are the field `name` of the keys; `None` if that field is not the value at a path.
    pub(super) fn id_field(&self, name: &str) -> Option<&FieldPath> {
        self.id.path_of_field(name)
    }

    /// True if an expression draws random numbers.
    fn is_random(&self) -> bool {
        self.id.is_random() || self.fields.iter().any(|(_, accumulator)| accumulator.argument.is_random())
    }

    /// True if the result does not depend on the order of the documents, except for the types of equal numbers.
    pub fn ignores_order(&self) -> bool {
        self.fields.iter().all(|(_, accumulator)| accumulator.ignores_order())
    }
}

/// The memory of a group, in addition to its key and states.
const GROUP_BYTES: usize = 120;

/// The memory of a state, in addition to the values in it.
const STATE_BYTES: usize = size_of::<State>();

/// The groups of the documents so far, in the order of their first documents. Documents whose keys are equal as values
/// are in one group: numbers are compared whatever their types, and strings are compared by the collation. The `_id` of
/// the group is the key of its first document.
#[derive(Debug)]
pub struct Groups {
    group: Arc<Group>,
    table: Table,
    /// If true, the first document of a group is the one with the least `_id`. Otherwise it is the one that was added
    /// first.
    is_by_id: bool,
    /// The number of groups that were drained.
    drained: u64,
    /// The memory of all groups, in bytes.
    bytes: usize,
    /// A reused buffer for the key that is looked up.
    key: Vec<u8>,
    /// Reads the fields of a stored document, if the group is simple.
    fields: Option<GroupFields>,
}

/// Groups by their keys, in the order in which they were added.
type Table = IndexMap<Box<[u8]>, Entry, DefaultHashBuilder>;

#[derive(Debug)]
struct Entry {
    id: Value,
    states: Box<[State]>,
    /// The sort key by which the groups are ordered, compared as bytes. Empty if the groups keep the order of the
    /// table.
    first: Box<[u8]>,
}

impl Entry {
    /// Merges another entry of the same group. The `_id` of that entry is taken if its first document comes before the
    /// first document of this entry.
    fn meet(&mut self, id: Value, first: Box<[u8]>) {
        if first < self.first {
            (self.id, self.first) = (id, first);
        }
    }
}

/// A group that was removed: its sort key, compared as bytes, and its document.
pub type TakenGroup = (Box<[u8]>, Map);

impl Groups {
    /// An empty set of groups, which are ordered by when their first documents are added.
    pub fn new(group: Arc<Group>) -> Self {
        let fields = GroupFields::of(&group);
        Self { group, table: Table::default(), is_by_id: false, drained: 0, bytes: 0, key: Vec::new(), fields }
    }

    /// An empty set of groups, which are ordered by the least `_id` of their documents. Use this if parts of a
    /// collection are read concurrently, each in the order of `_id`: then the groups have the same order as if the
    /// whole collection were read in the order of `_id`.
    pub fn by_id(group: Arc<Group>) -> Self {
        Self { is_by_id: true, ..Self::new(group) }
    }

    /// Adds a document to its group.
    ///
    /// # Errors
    /// [`PipelineError`]: an expression or accumulator does not accept a value, a list grows beyond
    /// MongoDB's limit, or the document is damaged.
    pub fn add(&mut self, record: RecordRef<'_>) -> Result<(), PipelineError> {
        self.add_times(record, 1)
    }

    /// Adds `times` equal documents to their group; `times` is at least one.
    ///
    /// # Errors
    /// As [`Groups::add`].
    pub fn add_times(&mut self, record: RecordRef<'_>, times: u64) -> Result<(), PipelineError> {
        let row = match record {
            RecordRef::View(row) => Some(row),
            RecordRef::Row(document) => Some(document.map()?),
            RecordRef::Map(_) => None,
        };
        match row {
            // The memory of the values of a large document is counted while they are evaluated.
            Some(row) if self.fields.is_some() && row.stored_bytes() < LARGE_STORED_BYTES => {
                self.add_row(record, row, times)
            }
            // Each document draws numbers of its own.
            _ if times > 1 && self.group.is_random() => (0..times).try_for_each(|_| self.add_evaluated(record, 1)),
            _ => self.add_evaluated(record, times),
        }
    }

    /// Adds a stored document that is not large to its group, if the group is simple.
    fn add_row(&mut self, record: RecordRef<'_>, row: MapRef<'_>, times: u64) -> Result<(), PipelineError> {
        let Self { group, table, is_by_id, bytes, key, fields, .. } = self;
        let Some(fields) = fields else { return Ok(()) };
        fields.find(row)?;
        let id = fields.id(row)?;
        key.clear();
        match &group.collation {
            None => id.encode_key(key)?,
            Some(collation) => collation.encode_key_of(&id, key)?,
        }
        let first = || if *is_by_id { key_of(record) } else { Box::default() };
        let entry = entry(table, group, key, || Ok(id.to_value()?), first, bytes)?;
        for (((_, accumulator), state), argument) in
            group.fields.iter().zip(&mut entry.states).zip(fields.arguments(row))
        {
            *bytes += accumulator.add_value(state, argument?, times).map_err(PipelineError::in_group)?;
        }
        Ok(())
    }

    /// Adds any document to its group.
    fn add_evaluated(&mut self, record: RecordRef<'_>, times: u64) -> Result<(), PipelineError> {
        let mut scope = record.scope();
        let mut id = self.group.id.evaluate(&mut scope).map_err(|error| record.failed(error))?.unwrap_or_default();
        if let (Some(name), Value::Map(map)) = (&self.group.only_field, &mut id)
            && map.is_empty()
        {
            map.push(name.clone(), Value::Null);
        }
        self.key.clear();
        encode_by(self.group.collation.as_ref(), &id, &mut self.key);
        let first = || if self.is_by_id { key_of(record) } else { Box::default() };
        let entry = entry(&mut self.table, &self.group, &self.key, || Ok(id), first, &mut self.bytes)?;
        for ((_, accumulator), state) in self.group.fields.iter().zip(&mut entry.states) {
            self.bytes += accumulator.add(state, record, &mut scope, times).map_err(PipelineError::in_group)?;
        }
        Ok(())
    }

    /// The approximate memory of the groups, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True if there are no groups.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Removes the groups so that they can be written to files. Each is returned with its key and the encoded states.
    pub fn drain(&mut self) -> impl Iterator<Item = (Box<[u8]>, Vec<u8>)> {
        self.bytes = 0;
        let (is_by_id, drained) = (self.is_by_id, self.drained);
        self.drained += self.table.len() as u64;
        self.table.drain(..).zip(drained..).map(move |((key, entry), at)| {
            let first = if is_by_id { entry.first.into() } else { at.to_be_bytes().to_vec() };
            let first = Value::Binary(Binary { subtype: 0, bytes: first });
            let states = entry.states.into_iter().map(State::into_value);
            let values: Vec<Value> = [first, entry.id].into_iter().chain(states).collect();
            let mut bytes = Vec::new();
            encoding::encode(&Value::Array(values), &mut bytes);
            (key, bytes)
        })
    }

    /// Adds the encoded states of a drained group. Its documents must come after the documents of the group that exists
    /// here.
    ///
    /// # Errors
    /// The bytes are damaged, or an error of [`Groups::add`].
    pub fn merge(&mut self, mut bytes: &[u8]) -> Result<(), PipelineError> {
        let damaged = || Err(PipelineError::damaged_file());
        let Ok(Value::Array(values)) = encoding::decode(&mut bytes) else { return damaged() };
        let mut values = values.into_iter();
        let (Some(Value::Binary(first)), Some(id)) = (values.next(), values.next()) else { return damaged() };
        let first = first.bytes.into_boxed_slice();
        self.key.clear();
        encode_by(self.group.collation.as_ref(), &id, &mut self.key);
        let copy = || first.clone();
        let mut given = Some(id);
        let id = || Ok(given.take().unwrap_or_default());
        let entry = entry(&mut self.table, &self.group, &self.key, id, copy, &mut self.bytes)?;
        if let Some(id) = given {
            entry.meet(id, first);
        }
        for ((_, accumulator), state) in self.group.fields.iter().zip(&mut entry.states) {
            let Some(later) = values.next() else { return damaged() };
            self.bytes += 2 * later.memory();
            if state.merge(accumulator.name, accumulator.collation.as_ref(), later)?.is_none() {
                return damaged();
            }
        }
        Ok(())
    }

    /// Adds groups whose documents come after the documents of these groups.
    ///
    /// # Errors
    /// As [`Groups::add`].
    pub fn absorb(&mut self, mut other: Self) -> Result<(), PipelineError> {
        self.bytes += other.bytes;
        for (key, entry) in other.table.drain(..) {
            let Some(known) = self.table.get_mut(&key) else {
                self.table.insert(key, entry);
                continue;
            };
            self.bytes = self.bytes.saturating_sub(GROUP_BYTES + key.len() + entry.id.memory());
            known.meet(entry.id, entry.first);
            for (((_, accumulator), state), later) in self.group.fields.iter().zip(&mut known.states).zip(entry.states)
            {
                state.absorb(accumulator.name, accumulator.collation.as_ref(), later)?;
            }
        }
        Ok(())
    }

    /// Removes the groups as documents, in their order.
    pub fn take(&mut self) -> impl Iterator<Item = Map> {
        self.bytes = 0;
        if self.is_by_id {
            self.table.sort_unstable_by(|_, a, _, b| a.first.cmp(&b.first));
        }
        let group = self.group.clone();
        self.table.drain(..).map(move |(_, entry)| group.document(entry).1)
    }

    /// Removes the last group.
    pub fn pop(&mut self) -> Option<TakenGroup> {
        let (_, entry) = self.table.pop()?;
        if self.table.is_empty() {
            self.bytes = 0;
        }
        Some(self.group.document(entry))
    }
}

impl Group {
    fn document(&self, entry: Entry) -> TakenGroup {
        let mut map = Map::with_capacity(1 + self.fields.len());
        map.push("_id", entry.id);
        for ((name, accumulator), state) in self.fields.iter().zip(entry.states) {
            map.push(name.clone(), accumulator.finish(state));
        }
        (entry.first, map)
    }
}

/// The key of a document's `_id`.
fn key_of(record: RecordRef<'_>) -> Box<[u8]> {
    record.id().and_then(|id| id_key(&id).ok()).map_or_else(Box::default, |key| key.as_slice().into())
}

/// The entry of a group, which is added if it does not exist. `id` is called for a new one only.
fn entry<'t>(
    table: &'t mut Table,
    group: &Group,
    key: &[u8],
    id: impl FnOnce() -> Result<Value, PipelineError>,
    first: impl FnOnce() -> Box<[u8]>,
    bytes: &mut usize,
) -> Result<&'t mut Entry, PipelineError> {
    match table.raw_entry_mut_v1().from_key(key) {
        RawEntryMut::Occupied(entry) => Ok(entry.into_mut()),
        RawEntryMut::Vacant(place) => {
            let id = id()?;
            let states = group.fields.iter().map(|(_, accumulator)| accumulator.start(&id));
            let states: Box<[State]> = states.collect::<Result<_, _>>()?;
            let first = first();
            *bytes += GROUP_BYTES + key.len() + id.memory() + first.len() + states.len() * STATE_BYTES;
            Ok(place.insert(key.into(), Entry { id, states, first }).1)
        }
    }
}

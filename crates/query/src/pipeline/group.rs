//! `$group`: a document for each group.

use super::accumulator::{Accumulator, State};
use super::error::PipelineError;
use super::record::RecordRef;
use crate::code::ErrorCode;
use crate::collation::{Collation, encode_by};
use crate::expression::{Expression, ExpressionError};
use alluvium_document::path::FieldPath;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value, encoding};
use hashbrown::HashMap;
use std::sync::Arc;

/// A `$group`: its key, and the fields that are computed for each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub(super) id: Expression,
    pub(super) fields: Vec<(Text, Accumulator)>,
    /// By which strings are equal; `None` for the equality of their bytes.
    pub(super) collation: Option<Collation>,
}

impl Group {
    /// The paths that are read of each document; `None` if all of it may be.
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
    /// True if the result does not depend on the order of the documents, but for the type of equal numbers.
    pub fn ignores_order(&self) -> bool {
        self.fields.iter().all(|(_, accumulator)| accumulator.ignores_order())
    }
}

/// The memory of a group beside its key and states.
const GROUP_BYTES: usize = 96;

/// The memory of a state beside the values in it.
const STATE_BYTES: usize = size_of::<State>();

/// The groups of the documents so far. Keys that are equal as values are one group, whatever the
/// types of their numbers, and strings by the collation; the first of them is kept.
#[derive(Debug)]
pub struct Groups {
    group: Arc<Group>,
    table: HashMap<Box<[u8]>, Entry>,
    /// The bytes of memory of all groups.
    bytes: usize,
    /// A buffer for the key that is looked up.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    id: Value,
    states: Box<[State]>,
}

impl Groups {
    /// No groups.
    pub fn new(group: Arc<Group>) -> Self {
        Self { group, table: HashMap::new(), bytes: 0, key: Vec::new() }
    }

    /// Adds a document to its group.
    ///
    /// # Errors
    /// [`PipelineError`]: an expression or accumulator does not accept a value, a list grows beyond
    /// MongoDB's limit, or the document is damaged.
    pub fn add(&mut self, record: RecordRef<'_>) -> Result<(), PipelineError> {
        let mut scope = record.scope();
        let id = self.group.id.evaluate(&mut scope).map_err(|error| record.failed(error))?.unwrap_or_default();
        self.key.clear();
        encode_by(self.group.collation.as_ref(), &id, &mut self.key);
        let entry = entry(&mut self.table, &self.group, &self.key, id, &mut self.bytes)?;
        for ((_, accumulator), state) in self.group.fields.iter().zip(&mut entry.states) {
            self.bytes += accumulator.add(state, record, &mut scope).map_err(PipelineError::in_group)?;
        }
        Ok(())
    }

    /// About the bytes of memory that the groups take.
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

    /// Removes the groups, to be written to files: each with its key, and the bytes of its states.
    pub fn drain(&mut self) -> impl Iterator<Item = (Box<[u8]>, Vec<u8>)> {
        self.bytes = 0;
        self.table.drain().map(|(key, entry)| {
            let states = entry.states.into_iter().map(State::into_value);
            let values: Vec<Value> = std::iter::once(entry.id).chain(states).collect();
            let mut bytes = Vec::new();
            encoding::encode(&Value::Array(values), &mut bytes);
            (key, bytes)
        })
    }

    /// Adds the drained states of a group, whose documents come after the documents of these groups.
    ///
    /// # Errors
    /// The bytes are damaged, or as [`Groups::add`].
    pub fn merge(&mut self, mut bytes: &[u8]) -> Result<(), PipelineError> {
        let damaged = || Err(PipelineError::damaged_file());
        let Ok(Value::Array(values)) = encoding::decode(&mut bytes) else { return damaged() };
        let mut values = values.into_iter();
        let Some(id) = values.next() else { return damaged() };
        self.key.clear();
        encode_by(self.group.collation.as_ref(), &id, &mut self.key);
        let entry = entry(&mut self.table, &self.group, &self.key, id, &mut self.bytes)?;
        for ((_, accumulator), state) in self.group.fields.iter().zip(&mut entry.states) {
            let Some(later) = values.next() else { return damaged() };
            self.bytes += 2 * later.memory();
            if state.merge(accumulator.name, accumulator.collation.as_ref(), later)?.is_none() {
                return damaged();
            }
        }
        Ok(())
    }

    /// Adds groups of other documents.
    ///
    /// # Errors
    /// As [`Groups::add`].
    pub fn absorb(&mut self, mut other: Self) -> Result<(), PipelineError> {
        self.bytes += other.bytes;
        for (key, entry) in other.table.drain() {
            let Some(known) = self.table.get_mut(&key) else {
                self.table.insert(key, entry);
                continue;
            };
            for (((_, accumulator), state), later) in self.group.fields.iter().zip(&mut known.states).zip(entry.states)
            {
                state.absorb(accumulator.name, accumulator.collation.as_ref(), later)?;
            }
        }
        Ok(())
    }

    /// Removes the groups as documents, in no particular order.
    pub fn take(&mut self) -> impl Iterator<Item = Map> {
        self.bytes = 0;
        let group = self.group.clone();
        self.table.drain().map(move |(_, entry)| {
            let mut map = Map::with_capacity(1 + group.fields.len());
            map.push("_id", entry.id);
            for ((name, accumulator), state) in group.fields.iter().zip(entry.states) {
                map.push(name.clone(), accumulator.finish(state));
            }
            map
        })
    }
}

/// The entry of a group, which may be new.
fn entry<'t>(
    table: &'t mut HashMap<Box<[u8]>, Entry>,
    group: &Group,
    key: &[u8],
    id: Value,
    bytes: &mut usize,
) -> Result<&'t mut Entry, PipelineError> {
    if !table.contains_key(key) {
        let states = group.fields.iter().map(|(_, accumulator)| accumulator.start(&id));
        let states: Box<[State]> = states.collect::<Result<_, _>>()?;
        *bytes += GROUP_BYTES + key.len() + id.memory() + states.len() * STATE_BYTES;
        table.insert(key.into(), Entry { id, states });
    }
    match table.get_mut(key) {
        Some(entry) => Ok(entry),
        None => Err(ExpressionError::new(ErrorCode::InternalError, "a group is not found after it was added").into()),
    }
}

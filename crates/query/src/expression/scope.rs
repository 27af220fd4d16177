//! The input of an expression: a document, and variables.

use super::error::EvaluateError;
use crate::memory::Held;
use alluvium_document::path::FieldPath;
use alluvium_document::row::{MapRef, ValueRef};
use alluvium_document::{Document, Map, Value};

/// The input of expressions. The memory of the values that expressions make from it is counted
/// until the scope is dropped.
#[derive(Debug)]
pub struct Scope<'d> {
    document: Root<'d>,
    /// The values of variables, those of outer operators first. `None` for a missing value.
    pub(super) variables: Vec<Option<Value>>,
    /// The memory of the values that evaluations have made so far. It counts as used until the
    /// scope is dropped.
    pub(crate) held: Held,
}

#[derive(Debug, Clone, Copy)]
enum Root<'d> {
    Row(&'d Document),
    Ref(MapRef<'d>),
    Fields(&'d Map),
}

impl<'d> Scope<'d> {
    fn new(document: Root<'d>) -> Self {
        Self { document, variables: Vec::new(), held: Held::default() }
    }

    /// The scope of a stored document.
    pub fn of(document: &'d Document) -> Self {
        Self::new(Root::Row(document))
    }

    /// The scope of an encoded document.
    pub(crate) fn of_ref(fields: MapRef<'d>) -> Self {
        Self::new(Root::Ref(fields))
    }

    /// The scope of a document given by its fields.
    pub fn of_map(fields: &'d Map) -> Self {
        Self::new(Root::Fields(fields))
    }

    /// Sets the values of the variables with which the expression was parsed, in the same order.
    #[must_use]
    pub fn with_variables(mut self, values: Vec<Option<Value>>) -> Self {
        self.variables = values;
        self
    }

    /// Returns the memory of the values that evaluations have made, for a caller that keeps the values longer.
    pub(crate) fn into_held(self) -> Held {
        self.held
    }

    /// Returns the values of the variables, so that the caller can reuse them.
    pub(crate) fn into_variables(self) -> Vec<Option<Value>> {
        self.variables
    }

    /// The stored size of a document that has to be decoded.
    #[inline]
    pub(super) fn stored_bytes(&self) -> usize {
        match self.document {
            Root::Row(document) => document.row_len(),
            Root::Ref(fields) => fields.stored_bytes(),
            Root::Fields(_) => 0,
        }
    }

    /// The memory that a stored document takes when it is decoded.
    #[cold]
    pub(super) fn memory_of_root(&self) -> Result<usize, EvaluateError> {
        match self.document {
            Root::Row(document) => Ok(document.map()?.memory()?),
            Root::Ref(fields) => Ok(fields.memory()?),
            Root::Fields(_) => Ok(0),
        }
    }

    /// The memory that the value at a path of a stored document takes when it is decoded.
    #[cold]
    pub(super) fn memory_of_field(&self, path: &FieldPath) -> Result<usize, EvaluateError> {
        let map = match self.document {
            Root::Row(document) => document.map()?,
            Root::Ref(fields) => fields,
            Root::Fields(_) => return Ok(0),
        };
        memory_in_row(map, path, 0)
    }

    pub(super) fn root(&self) -> Result<Value, EvaluateError> {
        match self.document {
            Root::Row(document) => Ok(document.to_value()?),
            Root::Ref(fields) => Ok(Value::Map(fields.to_map()?)),
            Root::Fields(fields) => Ok(Value::Map(fields.clone())),
        }
    }

    /// The value at a path of the document, as an expression reads it.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn value_at(&self, path: &FieldPath) -> Result<Option<Value>, EvaluateError> {
        self.field(path)
    }

    /// The value at a path of the document.
    pub(super) fn field(&self, path: &FieldPath) -> Result<Option<Value>, EvaluateError> {
        match self.document {
            Root::Row(document) => in_row(document.map()?, path, 0),
            Root::Ref(fields) => in_row(fields, path, 0),
            Root::Fields(fields) => Ok(in_map(fields, path, 0)),
        }
    }

    /// The value of a variable.
    pub(super) fn variable(&self, slot: usize) -> Option<&Value> {
        self.variables.get(slot)?.as_ref()
    }
}

/// The value at the rest of a path, beginning with name `at`.
pub(super) fn in_map(map: &Map, path: &FieldPath, at: usize) -> Option<Value> {
    let value = map.get(path.name(at)?)?;
    if at + 1 == path.depth() { Some(value.clone()) } else { in_value(value, path, at + 1) }
}

pub(super) fn in_value(value: &Value, path: &FieldPath, at: usize) -> Option<Value> {
    match value {
        Value::Map(map) => in_map(map, path, at),
        Value::Array(elements) => {
            let maps = elements.iter().filter_map(Value::as_map);
            Some(Value::Array(maps.filter_map(|map| in_map(map, path, at)).collect()))
        }
        _ => None,
    }
}

fn in_row(map: MapRef<'_>, path: &FieldPath, at: usize) -> Result<Option<Value>, EvaluateError> {
    let Some(name) = path.name(at) else { return Ok(None) };
    let Some(value) = map.get(name)? else { return Ok(None) };
    if at + 1 == path.depth() {
        return Ok(Some(value.to_value()?));
    }
    match value {
        ValueRef::Map(map) => in_row(map, path, at + 1),
        ValueRef::Array(elements) => {
            let mut found = Vec::new();
            for element in elements.iter() {
                if let ValueRef::Map(map) = element? {
                    found.extend(in_row(map, path, at + 1)?);
                }
            }
            Ok(Some(Value::Array(found)))
        }
        _ => Ok(None),
    }
}

/// The memory of the value that [`in_row`] returns.
fn memory_in_row(map: MapRef<'_>, path: &FieldPath, at: usize) -> Result<usize, EvaluateError> {
    let Some(name) = path.name(at) else { return Ok(0) };
    let Some(value) = map.get(name)? else { return Ok(0) };
    if at + 1 == path.depth() {
        return Ok(value.memory()?);
    }
    match value {
        ValueRef::Map(map) => memory_in_row(map, path, at + 1),
        ValueRef::Array(elements) => {
            let mut bytes = 0;
            for element in elements.iter() {
                if let ValueRef::Map(map) = element? {
                    bytes += memory_in_row(map, path, at + 1)?;
                }
            }
            Ok(bytes)
        }
        _ => Ok(0),
    }
}

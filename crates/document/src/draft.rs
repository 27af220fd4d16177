//! Documents under modification, decoded only as far as the change needs.

use std::sync::Arc;

use alluvium_codec::varint;

use crate::bson;
use crate::diff::Difference;
use crate::document::Document;
use crate::encoding;
use crate::row::{Form, ID, RowEncoder, RowError, encode_known_row};
use crate::shape::{FieldKind, Shape, ShapeTable};
use crate::value::{MAX_DEPTH, Map, Value};

/// A document under modification.
///
/// As long as only the values of existing fields change, no other values are decoded: the new row
/// is a copy of the old one with these values replaced. Adding or removing a field, and
/// [`Draft::map`], decode the whole document.
#[derive(Debug, Clone)]
pub struct Draft {
    document: Document,
    state: State,
    /// True if all fields were replaced at once.
    is_replaced: bool,
}

#[derive(Debug, Clone)]
enum State {
    /// New values of stored fields, in the order of their positions in the shape.
    Fields(Vec<(usize, Value)>),
    /// The whole document, decoded.
    Whole(Map),
}

impl Draft {
    /// A draft that equals `document`.
    ///
    /// # Errors
    /// [`RowError`] if damage was found. Parts that were not read may still be damaged.
    pub fn new(document: Document) -> Result<Self, RowError> {
        document.map()?;
        Ok(Self { document, state: State::Fields(Vec::new()), is_replaced: false })
    }

    /// The document before the changes.
    pub fn original(&self) -> &Document {
        &self.document
    }

    /// The `_id` of the original document; null if it had none.
    pub fn id(&self) -> &Value {
        self.document.id()
    }

    /// The field besides `_id` that the document's row does not store because it equals `_id`: an
    /// argument of [`crate::row::encode_row`].
    pub fn id_copy(&self) -> Option<&str> {
        let fields = self.document.map().ok()?.shape()?.fields();
        let copy = fields.iter().find(|field| field.kind == FieldKind::IsId && &*field.name != ID);
        copy.map(|field| &*field.name)
    }

    /// The value of the first field with this name.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn get(&self, name: &str) -> Result<Option<Value>, RowError> {
        let changes = match &self.state {
            State::Whole(map) => return Ok(map.get(name).cloned()),
            State::Fields(changes) => changes,
        };
        if let Some(position) = self.stored_position(name)?
            && let Some((_, value)) = changes.iter().find(|(at, _)| *at == position)
        {
            return Ok(Some(value.clone()));
        }
        self.document.get(name)?.map(|value| value.to_value()).transpose()
    }

    /// Sets the value of the first field with this name; appends the field if it does not exist.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), RowError> {
        let position = self.stored_position(name)?;
        let (State::Fields(changes), Some(position)) = (&mut self.state, position) else {
            let map = self.map()?;
            match map.get_mut(name) {
                Some(old) => *old = value.into(),
                None => map.push(name, value),
            }
            return Ok(());
        };
        match changes.binary_search_by_key(&position, |(at, _)| *at) {
            Ok(at) => changes[at].1 = value.into(),
            Err(at) => changes.insert(at, (position, value.into())),
        }
        Ok(())
    }

    /// The value of the first field with this name, for changing it in place. If the row has a
    /// shape, no other value is decoded, and nothing is decoded if the shape has no such field.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn get_mut(&mut self, name: &str) -> Result<Option<&mut Value>, RowError> {
        let position = self.stored_position(name)?;
        if let Some(position) = position {
            self.load(position, name)?;
        } else if self.lacks(name)? {
            return Ok(None);
        } else {
            self.map()?;
        }
        Ok(match &mut self.state {
            State::Whole(map) => map.get_mut(name),
            State::Fields(changes) => {
                let change = changes.iter_mut().find(|(at, _)| Some(*at) == position);
                change.map(|(_, value)| value)
            }
        })
    }

    /// Removes the first field with this name, and returns its value.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn remove(&mut self, name: &str) -> Result<Option<Value>, RowError> {
        Ok(self.map()?.remove(name))
    }

    /// Replaces all fields.
    pub fn replace(&mut self, fields: Map) {
        self.state = State::Whole(fields);
        self.is_replaced = true;
    }

    /// True if [`Draft::replace`] was called.
    pub fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    /// All fields, for any change. Decodes the document.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn map(&mut self) -> Result<&mut Map, RowError> {
        if let State::Fields(changes) = &mut self.state {
            let mut map = self.document.to_map()?;
            for (position, value) in std::mem::take(changes) {
                map.entries[position].1 = value;
            }
            self.state = State::Whole(map);
        }
        match &mut self.state {
            State::Whole(map) => Ok(map),
            State::Fields(_) => Err(alluvium_codec::DecodeError::Invalid("a draft").into()),
        }
    }

    /// The document with the changes.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn into_map(mut self) -> Result<Map, RowError> {
        self.map().map(std::mem::take)
    }

    /// The size as a BSON document.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn bson_size(&self) -> Result<usize, RowError> {
        let changes = match &self.state {
            State::Whole(map) => return Ok(bson::document_size(map)),
            State::Fields(changes) => changes,
        };
        let mut size = self.document.bson_size()?;
        if let Some(shape) = self.document.map()?.shape() {
            for (position, value) in changes {
                let old = self.document.get(&shape.fields()[*position].name)?;
                size += bson::bson_size(value);
                size -= old.map_or(Ok(0), |old| old.bson_size())?;
            }
        }
        Ok(size)
    }

    /// An upper bound of [`Draft::bson_size`], computed without reading the document.
    pub fn bson_size_max(&self) -> usize {
        let changes = match &self.state {
            State::Whole(map) => return bson::document_size(map),
            State::Fields(changes) => changes,
        };
        let new: usize = changes.iter().map(|(_, value)| bson::bson_size(value)).sum();
        self.document.bson_size_max().saturating_add(new)
    }

    /// The size as a BSON document, if it exceeds `limit`.
    ///
    /// # Errors
    /// As [`Draft::bson_size`].
    pub fn bson_size_over(&self, limit: usize) -> Result<Option<usize>, RowError> {
        if self.bson_size_max() <= limit {
            return Ok(None);
        }
        Ok(Some(self.bson_size()?).filter(|size| *size > limit))
    }

    /// The size of the values in the row, if only values of existing fields have changed.
    pub fn patched_bytes(&self) -> Option<usize> {
        let State::Fields(_) = &self.state else { return None };
        let map = self.document.map().ok()?;
        matches!(map.form, Form::Shaped { .. }).then_some(map.bytes.len())
    }

    /// The difference between the original document and the changed one; `None` as for [`Difference::between`]. If only
    /// values of existing fields have changed, no others are read.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn difference(&self) -> Result<Option<Difference>, RowError> {
        let changes = match &self.state {
            State::Whole(map) => return Ok(Difference::between(&self.document.to_map()?, map)),
            State::Fields(changes) => changes,
        };
        let row = self.document.map()?;
        let Some(shape) = row.shape() else { return Ok(Some(Difference::default())) };
        let mut fields = Vec::with_capacity(changes.len());
        for (position, value) in changes {
            let name = &*shape.fields()[*position].name;
            if let Some(old) = row.get(name)? {
                // The names of a shape are unique.
                fields.push((name, old.to_value()?, value));
            }
        }
        Ok(Difference::of_values(&fields))
    }

    /// Appends the row, as [`crate::row::encode_row`] does, if it can be made from the original row. `table` is the
    /// table of the collection. Otherwise, for instance if `_id` was set, appends nothing and returns false; the caller
    /// then encodes [`Draft::into_map`].
    ///
    /// # Errors
    /// [`RowError::TooDeep`], or the document is damaged; `row` and `new_shapes` are then
    /// unchanged.
    pub fn encode_row(
        &self,
        table: &ShapeTable,
        row: &mut Vec<u8>,
        new_shapes: &mut Vec<Arc<Shape>>,
    ) -> Result<bool, RowError> {
        let Some(patch) = self.patch(table)? else { return Ok(false) };
        let (row_len, shapes_len) = (row.len(), new_shapes.len());
        let result = patch.put(&mut RowEncoder::new(table, row, new_shapes));
        if result.is_err() {
            row.truncate(row_len);
            new_shapes.truncate(shapes_len);
        }
        result.map(|()| true)
    }

    /// Appends the row as [`encode_known_row`] does, with committed shapes only.
    ///
    /// # Errors
    /// [`RowError::TooDeep`], or the document is damaged; `row` is then unchanged.
    pub fn encode_known_row(&self, table: &ShapeTable, row: &mut Vec<u8>) -> Result<(), RowError> {
        if let State::Whole(map) = &self.state {
            return encode_known_row(map, table, self.id_copy(), row);
        }
        let Some(patch) = self.patch(table)? else {
            return encode_known_row(&self.clone().into_map()?, table, self.id_copy(), row);
        };
        let row_len = row.len();
        let result = patch.put(&mut RowEncoder::known(table, row, &mut Vec::new()));
        if result.is_err() {
            row.truncate(row_len);
        }
        result
    }

    /// The shape, the values and the new values for a row that differs from the original only in some values. `None` if
    /// `_id` was set, because the code that encodes the whole document compares the new `_id` with the original.
    fn patch(&self, table: &ShapeTable) -> Result<Option<Patch<'_>>, RowError> {
        let State::Fields(changes) = &self.state else { return Ok(None) };
        let map = self.document.map()?;
        let Form::Shaped { shape, .. } = map.form else { return Ok(None) };
        let sets_id = changes.iter().any(|(position, _)| &*shape.fields()[*position].name == ID);
        Ok((!sets_id && std::ptr::eq(map.table, table)).then_some(Patch { shape, values: map.bytes, changes }))
    }

    /// True if the original document's shape lacks this field, and no field was added or removed
    /// since.
    fn lacks(&self, name: &str) -> Result<bool, RowError> {
        let shape = self.document.map()?.shape();
        Ok(matches!(self.state, State::Fields(_)) && shape.is_some_and(|shape| shape.position(name).is_none()))
    }

    /// Decodes a stored field into the new values, unless it or the whole document is already
    /// decoded.
    fn load(&mut self, position: usize, name: &str) -> Result<(), RowError> {
        let State::Fields(changes) = &mut self.state else { return Ok(()) };
        if let Err(at) = changes.binary_search_by_key(&position, |(at, _)| *at) {
            let value = self.document.get(name)?.map_or(Ok(Value::Null), |value| value.to_value())?;
            changes.insert(at, (position, value));
        }
        Ok(())
    }

    /// The position of a field whose value the row stores. `None` if the row has no such field, or no shape.
    fn stored_position(&self, name: &str) -> Result<Option<usize>, RowError> {
        let Some(shape) = self.document.map()?.shape() else { return Ok(None) };
        let position = shape.position(name);
        Ok(position.filter(|position| shape.fields()[*position].kind == FieldKind::Stored))
    }
}

/// A row that differs from another only in some values.
struct Patch<'a> {
    shape: &'a Shape,
    values: &'a [u8],
    changes: &'a [(usize, Value)],
}

impl Patch<'_> {
    fn put(&self, encoder: &mut RowEncoder<'_>) -> Result<(), RowError> {
        varint::put_u64(encoder.row, u64::from(self.shape.number()));
        let (mut rest, mut passed) = (self.values, 0);
        for (position, value) in self.changes {
            let stored = self.shape.stored_before(*position);
            let before = rest;
            (passed..stored).try_for_each(|_| encoding::skip(&mut rest))?;
            encoder.row.extend_from_slice(&before[..before.len() - rest.len()]);
            encoder.put(value, MAX_DEPTH - 1)?;
            encoding::skip(&mut rest)?;
            passed = stored + 1;
        }
        encoder.row.extend_from_slice(rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Rows: a document's values under its shape.
//!
//! A row is `varint shape number`, then the value of each stored field in the self-describing encoding. The number 0 is
//! followed by one self-describing map. In both cases a nested map with string keys whose shape is known is encoded as
//! code 14: shape number, byte length of the rest, values. `docs/FORMAT.md` has the layout.

use std::sync::Arc;

use alluvium_codec::{DecodeError, varint};

use crate::encoding::{self, ARRAY, MAP, SHAPED, put_head};
use crate::shape::{FieldKind, Shape, ShapeTable, hash_fields};
use crate::value::{LEVELS_MAX, MAX_DEPTH, Map, Value};

mod compare;
mod find;
mod key;
mod memory;
mod pick;
mod size;
mod view;

pub use find::FieldFinder;
pub use pick::FieldPicker;
pub use view::{ArrayIter, ArrayRef, MapIter, MapRef, ValueRef};
pub(crate) use view::{Context, Form, NESTED_ID, TRAILING, shape_of};

/// The name of the field that identifies a document.
pub const ID: &str = "_id";

/// The reason why a row cannot be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The bytes are not a row. Storage is damaged, or the row belongs to another collection.
    #[error("a row is damaged: {0}")]
    Damaged(#[from] DecodeError),
    /// A row uses the number of a shape that the collection does not have.
    #[error("a row uses shape {0}, which the collection does not have")]
    UnknownShape(u32),
    /// Arrays and maps nest deeper than [`MAX_DEPTH`], or than [`LEVELS_MAX`] in a result.
    #[error("a document nests deeper than {MAX_DEPTH} levels, or a result deeper than {LEVELS_MAX}")]
    TooDeep,
}

/// Appends the row of `document` to `row`. Appends the shapes that the row uses and that are not committed to
/// `new_shapes`; their definitions must be written in the same batch. A shape is appended once, even over several
/// calls.
///
/// `id_copy` names another field besides `_id` that takes no space in the row as long as it equals
/// `_id`. A document without an `_id` is stored in the row as a whole.
///
/// # Errors
/// [`RowError::TooDeep`]; `row` and `new_shapes` are then unchanged.
pub fn encode_row(
    document: &Map,
    table: &ShapeTable,
    id_copy: Option<&str>,
    row: &mut Vec<u8>,
    new_shapes: &mut Vec<Arc<Shape>>,
) -> Result<(), RowError> {
    let (row_len, shapes_len) = (row.len(), new_shapes.len());
    let result = RowEncoder::new(table, row, new_shapes).put_document(document, id_copy);
    if result.is_err() {
        row.truncate(row_len);
        new_shapes.truncate(shapes_len);
    }
    result
}

/// As [`encode_row`], for callers without a batch that could include definitions: uses only committed shapes, and the
/// self-describing encoding for other maps.
///
/// # Errors
/// [`RowError::TooDeep`]; `row` is then unchanged.
pub fn encode_known_row(
    document: &Map,
    table: &ShapeTable,
    id_copy: Option<&str>,
    row: &mut Vec<u8>,
) -> Result<(), RowError> {
    let row_len = row.len();
    let result = RowEncoder::known(table, row, &mut Vec::new()).put_document(document, id_copy);
    if result.is_err() {
        row.truncate(row_len);
    }
    result
}

/// The row of a document without shapes, which can be decoded without a table. The document may nest up to `levels`, which
/// include itself.
///
/// # Errors
/// [`RowError::TooDeep`].
pub(crate) fn encode_plain_row(document: &Map, levels: usize) -> Result<Vec<u8>, RowError> {
    let mut row = vec![0];
    let mut encoder = RowEncoder { table: None, makes: false, row: &mut row, new_shapes: &mut Vec::new() };
    encoder.put_plain(document, levels - 1)?;
    Ok(row)
}

/// Decodes a row into a document. `id` is the document's `_id`, as decoded from its key.
///
/// # Errors
/// [`RowError`] if the bytes are not a row of this collection.
pub fn decode_row(row: &[u8], table: &ShapeTable, id: &Value) -> Result<Map, RowError> {
    let mut id_bytes = Vec::new();
    encoding::encode(id, &mut id_bytes);
    MapRef::of_row(row, Context { table, id: &id_bytes })?.to_map()
}

/// Calls `note` with the number of each shape that a row uses, including shapes of nested maps. A number may be passed
/// more than once. Needs no table of shapes.
///
/// # Errors
/// [`DecodeError`] if the bytes are not a row; the shapes before the damage have then been passed
/// to `note`.
pub fn shapes_used(mut row: &[u8], note: &mut dyn FnMut(u32)) -> Result<(), DecodeError> {
    let note = &mut |number: u64| {
        // Larger numbers do not belong to shapes.
        if let Ok(number @ 1..) = u32::try_from(number) {
            note(number);
        }
    };
    note(varint::get_u64(&mut row)?);
    encoding::each_shape(row, note)
}

/// True if decoding the key of `id` gives the identical value, so that the row need not contain the value.
pub fn is_natural_id(id: &Value) -> bool {
    match id {
        Value::String(_) | Value::ObjectId(_) | Value::Int32(_) => true,
        Value::Int64(n) => i32::try_from(*n).is_err(),
        Value::Array(_) | Value::Map(_) => false,
        _ => {
            let Ok(bytes) = crate::key::id_key(id) else { return false };
            crate::key::decode(&mut &bytes[..]).is_ok_and(|decoded| decoded == *id)
        }
    }
}

/// Adds `shape` to the list if its definition must be written in the batch and is not in the list yet.
pub(crate) fn note_shape(shape: &Arc<Shape>, new_shapes: &mut Vec<Arc<Shape>>) {
    if !shape.is_committed() && !new_shapes.iter().any(|known| Arc::ptr_eq(known, shape)) {
        new_shapes.push(Arc::clone(shape));
    }
}

/// Starts a map with a shape. The caller appends its values, and then calls [`end_shaped`] with the
/// result.
#[inline]
pub(crate) fn begin_shaped(out: &mut Vec<u8>, number: u32) -> usize {
    put_head(out, SHAPED, u64::from(number));
    out.push(0);
    out.len()
}

/// Inserts the length of the map whose values begin at `start`.
#[inline]
pub(crate) fn end_shaped(out: &mut Vec<u8>, start: usize) {
    let len = out.len() - start;
    if len < 0x80 {
        out[start - 1] = len as u8;
    } else {
        let mut length = Vec::with_capacity(varint::MAX_LEN);
        varint::put_u64(&mut length, len as u64);
        out.splice(start - 1..start, length);
    }
}

/// Writes values into a row.
pub(crate) struct RowEncoder<'a> {
    /// The table of shapes; `None` if no map gets a shape.
    table: Option<&'a ShapeTable>,
    /// True if shapes may be created, and used before they are committed.
    makes: bool,
    pub(crate) row: &'a mut Vec<u8>,
    new_shapes: &'a mut Vec<Arc<Shape>>,
}

impl<'a> RowEncoder<'a> {
    /// An encoder that appends to `row` and `new_shapes`.
    pub(crate) fn new(table: &'a ShapeTable, row: &'a mut Vec<u8>, new_shapes: &'a mut Vec<Arc<Shape>>) -> Self {
        Self { table: Some(table), makes: true, row, new_shapes }
    }

    /// An encoder that appends to `row`, with committed shapes only; `unused` stays empty.
    pub(crate) fn known(table: &'a ShapeTable, row: &'a mut Vec<u8>, unused: &'a mut Vec<Arc<Shape>>) -> Self {
        Self { table: Some(table), makes: false, row, new_shapes: unused }
    }

    fn put_document(&mut self, document: &Map, id_copy: Option<&str>) -> Result<(), RowError> {
        let id = document.get(ID).filter(|id| is_natural_id(id));
        let kind = |name: &str, value: &Value| match id {
            Some(id) if (name == ID || Some(name) == id_copy) && value == id => FieldKind::IsId,
            _ => FieldKind::Stored,
        };
        let fields = document.entries.iter().map(|(key, value)| {
            let name = key.as_str().unwrap_or_default();
            (name, kind(name, value))
        });
        let Some(shape) = self.shape_of(document, true, fields.clone()) else {
            self.row.push(0);
            return self.put_plain(document, MAX_DEPTH - 1);
        };
        varint::put_u64(self.row, u64::from(shape.number()));
        for ((_, value), field) in document.entries.iter().zip(shape.fields()) {
            if field.kind == FieldKind::Stored {
                self.put(value, MAX_DEPTH - 1)?;
            }
        }
        Ok(())
    }

    fn shape_of<'f>(
        &mut self,
        map: &Map,
        is_document: bool,
        fields: impl Iterator<Item = (&'f str, FieldKind)> + Clone,
    ) -> Option<Arc<Shape>> {
        let table = self.table?;
        if !map.entries.iter().all(|(key, _)| key.as_str().is_some()) {
            return None;
        }
        let hash = hash_fields(fields.clone());
        if !self.makes {
            return table.find(hash, fields).filter(|shape| shape.is_committed()).cloned();
        }
        let shape = table.find_or_make(hash, is_document, fields)?;
        note_shape(shape, self.new_shapes);
        Some(Arc::clone(shape))
    }

    /// Appends a value inside a row; `levels` is the number of levels that it may nest.
    pub(crate) fn put(&mut self, value: &Value, levels: usize) -> Result<(), RowError> {
        match value {
            Value::Array(elements) => {
                let levels = levels.checked_sub(1).ok_or(RowError::TooDeep)?;
                put_head(self.row, ARRAY, elements.len() as u64);
                elements.iter().try_for_each(|element| self.put(element, levels))
            }
            Value::Map(map) => self.put_map(map, levels.checked_sub(1).ok_or(RowError::TooDeep)?),
            Value::Code(_) if value.is_deeper_than(levels) => Err(RowError::TooDeep),
            scalar => {
                encoding::encode(scalar, self.row);
                Ok(())
            }
        }
    }

    fn put_map(&mut self, map: &Map, levels: usize) -> Result<(), RowError> {
        if map.is_empty() {
            self.row.push(MAP);
            return Ok(());
        }
        let fields = map.entries.iter().map(|(key, _)| (key.as_str().unwrap_or_default(), FieldKind::Stored));
        let Some(shape) = self.shape_of(map, false, fields) else {
            return self.put_plain(map, levels);
        };
        let start = begin_shaped(self.row, shape.number());
        map.entries.iter().try_for_each(|(_, value)| self.put(value, levels))?;
        end_shaped(self.row, start);
        Ok(())
    }

    /// Appends a self-describing map; maps inside it may have shapes.
    fn put_plain(&mut self, map: &Map, levels: usize) -> Result<(), RowError> {
        put_head(self.row, MAP, map.len() as u64);
        for (key, value) in &map.entries {
            self.put(key, levels)?;
            self.put(value, levels)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;

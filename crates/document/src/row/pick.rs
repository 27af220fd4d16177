//! Copies some fields of rows, without decoding their values.

use super::view::{Form, MapRef, NESTED_ID, ValueRef};
use super::{ID, RowError};
use crate::encoding::{self, MAP, put_head, put_str};
use crate::shape::{FieldKind, Shape};
use std::ops::Range;

/// Copies `_id` and the top-level fields with certain names out of the rows of one collection, into rows that
/// [`crate::Document::from_fields`] reads under the same shapes. Values are copied as bytes.
///
/// ```
/// use alluvium_document::Document;
/// use alluvium_document::row::FieldPicker;
/// use alluvium_document::shape::{ShapeOptions, ShapeTable};
/// use std::sync::Arc;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pet = Document::from_json(r#"{"name": "Ada", "_id": 1, "age": 3, "kind": "cat"}"#)?;
/// let mut row = Vec::new();
/// FieldPicker::new(["kind", "name"]).put_row(pet.map()?, &mut row)?;
/// let shapes = Arc::new(ShapeTable::new(ShapeOptions::DEFAULT));
/// let picked = Document::from_fields(&shapes, row)?;
/// assert_eq!(picked.to_string(), r#"{"_id":1,"name":"Ada","kind":"cat"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FieldPicker {
    /// In order, each once; `_id` is not among them.
    names: Vec<Box<str>>,
    /// The number of the shape that the last row had: rows of one shape follow each other.
    shape: Option<u32>,
    /// The positions of the fields in this shape, without `_id`.
    positions: Vec<usize>,
}

impl FieldPicker {
    /// Picks `_id` and the fields with these names.
    pub fn new<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut names: Vec<Box<str>> = names.into_iter().map(N::into).filter(|name| **name != *ID).collect();
        names.sort_unstable();
        names.dedup();
        Self { names, shape: None, positions: Vec::new() }
    }

    /// Appends a row of `_id` and the fields, in the order of the row.
    ///
    /// # Errors
    /// [`RowError`] if the row is damaged; what is in `out` then has no meaning.
    pub fn put_row(&mut self, row: MapRef<'_>, out: &mut Vec<u8>) -> Result<(), RowError> {
        // The number of a row without a shape.
        out.push(0);
        match row.form {
            Form::Shaped { shape, id } => self.put_shaped(shape, id, row.bytes, out),
            Form::Plain { count } => self.put_plain(row, count, out),
        }
    }

    fn put_shaped(&mut self, shape: &Shape, id: Option<&[u8]>, row: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        if self.shape != Some(shape.number()) {
            self.shape = Some(shape.number());
            let fields = shape.fields().iter().enumerate();
            let positions = fields.filter(|(_, field)| self.names.binary_search(&field.name).is_ok());
            self.positions = positions.map(|(at, _)| at).collect();
        }
        let has_id = shape.position(ID);
        put_head(out, MAP, (self.positions.len() + usize::from(has_id.is_some())) as u64);
        let value = |position: usize, rest: &mut &[u8], passed: &mut usize, out: &mut Vec<u8>| {
            let field = &shape.fields()[position];
            put_str(out, &field.name);
            if field.kind == FieldKind::IsId {
                out.extend_from_slice(id.ok_or(NESTED_ID)?);
                return Ok(());
            }
            let before = shape.stored_before(position);
            for _ in *passed..before {
                encoding::skip(rest)?;
            }
            *passed = before + 1;
            put_value(rest, out)
        };
        if let Some(position) = has_id {
            value(position, &mut { row }, &mut 0, out)?;
        }
        let (mut rest, mut passed) = (row, 0);
        self.positions.iter().try_for_each(|position| value(*position, &mut rest, &mut passed, out))
    }

    fn put_plain(&self, row: MapRef<'_>, count: usize, out: &mut Vec<u8>) -> Result<(), RowError> {
        let (mut id, mut fields): (Option<Range<usize>>, Vec<Range<usize>>) = (None, Vec::new());
        let mut rest = row.bytes;
        for _ in 0..count {
            let start = row.bytes.len() - rest.len();
            let key = ValueRef::take(&mut rest, row.table)?;
            encoding::skip(&mut rest)?;
            let field = start..row.bytes.len() - rest.len();
            match key.as_str() {
                Some(ID) => _ = id.get_or_insert(field),
                Some(name) if self.names.binary_search_by(|picked| (**picked).cmp(name)).is_ok() => fields.push(field),
                _ => {}
            }
        }
        put_head(out, MAP, (fields.len() + usize::from(id.is_some())) as u64);
        id.into_iter().chain(fields).for_each(|field| out.extend_from_slice(&row.bytes[field]));
        Ok(())
    }
}

/// Copies the value at the start of `rest`, which then begins behind it.
fn put_value(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    let before = *rest;
    encoding::skip(rest)?;
    out.extend_from_slice(&before[..before.len() - rest.len()]);
    Ok(())
}

#[cfg(test)]
mod tests;

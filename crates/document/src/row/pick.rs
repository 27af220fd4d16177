//! Copies some fields of rows, without decoding their values.

use super::RowError;
use super::view::{Form, MapRef, NESTED_ID, ValueRef};
use crate::encoding::{self, MAP, put_head, put_str};
use crate::shape::{FieldKind, Shape};
use std::ops::Range;

/// Copies the top-level fields with certain names out of the rows of one collection, into rows that
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
/// FieldPicker::new(["kind", "_id"]).put_row(pet.map()?, &mut row)?;
/// let shapes = Arc::new(ShapeTable::new(ShapeOptions::DEFAULT));
/// let picked = Document::from_fields(&shapes, row)?;
/// assert_eq!(picked.to_string(), r#"{"_id":1,"kind":"cat"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FieldPicker {
    /// The names, sorted and without duplicates.
    names: Vec<Box<str>>,
    /// The identity of the shape of the last row. Consecutive rows usually have the same shape.
    shape: Option<u64>,
    /// The positions of the fields in this shape.
    positions: Vec<usize>,
}

impl FieldPicker {
    /// A picker of the fields with these names.
    pub fn new<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut names: Vec<Box<str>> = names.into_iter().map(N::into).collect();
        names.sort_unstable();
        names.dedup();
        Self { names, shape: None, positions: Vec::new() }
    }

    /// Appends a row with the picked fields, in the order of the original row.
    ///
    /// # Errors
    /// [`RowError`] if the row is damaged; the content of `out` is then undefined.
    pub fn put_row(&mut self, row: MapRef<'_>, out: &mut Vec<u8>) -> Result<(), RowError> {
        // The shape number of a row without a shape.
        out.push(0);
        match row.form {
            Form::Shaped { shape, id } => self.put_shaped(shape, id, row.bytes, out),
            Form::Plain { count } => self.put_plain(row, count, out),
        }
    }

    fn put_shaped(&mut self, shape: &Shape, id: Option<&[u8]>, row: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        if self.shape != Some(shape.identity()) {
            self.shape = Some(shape.identity());
            let fields = shape.fields().iter().enumerate();
            let positions = fields.filter(|(_, field)| self.names.binary_search(&field.name).is_ok());
            self.positions = positions.map(|(at, _)| at).collect();
        }
        put_head(out, MAP, self.positions.len() as u64);
        let (mut rest, mut passed) = (row, 0);
        for &position in &self.positions {
            let field = &shape.fields()[position];
            put_str(out, &field.name);
            if field.kind == FieldKind::IsId {
                out.extend_from_slice(id.ok_or(NESTED_ID)?);
                continue;
            }
            let before = shape.stored_before(position);
            for _ in passed..before {
                encoding::skip(&mut rest)?;
            }
            passed = before + 1;
            put_value(&mut rest, out)?;
        }
        Ok(())
    }

    fn put_plain(&self, row: MapRef<'_>, count: usize, out: &mut Vec<u8>) -> Result<(), RowError> {
        let mut fields: Vec<Range<usize>> = Vec::new();
        let mut rest = row.bytes;
        for _ in 0..count {
            let start = row.bytes.len() - rest.len();
            let key = ValueRef::take(&mut rest, row.table)?;
            encoding::skip(&mut rest)?;
            let is_picked = |name: &str| self.names.binary_search_by(|picked| (**picked).cmp(name)).is_ok();
            if key.as_str().is_some_and(is_picked) {
                fields.push(start..row.bytes.len() - rest.len());
            }
        }
        put_head(out, MAP, fields.len() as u64);
        fields.into_iter().for_each(|field| out.extend_from_slice(&row.bytes[field]));
        Ok(())
    }
}

/// Copies the value at the start of `rest`, and advances `rest` past it.
fn put_value(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    let before = *rest;
    encoding::skip(rest)?;
    out.extend_from_slice(&before[..before.len() - rest.len()]);
    Ok(())
}

#[cfg(test)]
mod tests;

//! Encodes a BSON document directly as a row, without a tree of values.

use std::sync::Arc;

use alluvium_codec::varint;

use crate::bson::{BsonError, find_zero, tag, value_of};
use crate::encoding::{self, ARRAY, FALSE, MAP, NULL, OBJECT_ID, TRUE, put_double, put_head, put_integer, put_str};
use crate::key;
use crate::row::{ID, begin_shaped, end_shaped, is_natural_id, note_shape};
use crate::shape::{FieldKind, Shape, ShapeTable, hash_fields};
use crate::value::{MAX_DEPTH, Value};

/// The elements for which an encoder has room before it grows.
const ELEMENTS: usize = 32;

/// An encoder of BSON documents as rows, which reuses its buffer.
#[derive(Debug, Default)]
pub struct BsonRowEncoder {
    /// The elements of the documents and arrays that are being encoded, as positions in the bytes.
    elements: Vec<Element>,
}

/// An element of a document or array.
#[derive(Debug, Clone, Copy)]
struct Element {
    tag: u8,
    name_at: usize,
    value_at: usize,
    value_end: usize,
}

/// A document that was encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedBson {
    /// The `_id`.
    pub id: Value,
    /// The key of the `_id`.
    pub key: Vec<u8>,
}

/// The encoding of one document.
struct Job<'a> {
    bytes: &'a [u8],
    elements: &'a mut Vec<Element>,
    table: &'a ShapeTable,
    row: &'a mut Vec<u8>,
    new_shapes: &'a mut Vec<Arc<Shape>>,
}

impl BsonRowEncoder {
    /// Appends the row of a document to `row`, and its new shapes to `new_shapes`, as [`crate::row::encode_row`] does.
    /// Returns `None` and appends nothing if the document has to be decoded, because its first field is not a valid
    /// `_id`.
    ///
    /// # Errors
    /// [`BsonError`]; nothing was appended in that case.
    pub fn encode(
        &mut self,
        document: &[u8],
        table: &ShapeTable,
        row: &mut Vec<u8>,
        new_shapes: &mut Vec<Arc<Shape>>,
    ) -> Result<Option<EncodedBson>, BsonError> {
        let (row_len, shapes_len) = (row.len(), new_shapes.len());
        self.elements.clear();
        self.elements.reserve(ELEMENTS);
        let mut job = Job { bytes: document, elements: &mut self.elements, table, row, new_shapes };
        let result = job.put_document();
        if !matches!(result, Ok(Some(_))) {
            row.truncate(row_len);
            new_shapes.truncate(shapes_len);
        }
        result
    }
}

impl<'a> Job<'a> {
    fn put_document(&mut self) -> Result<Option<EncodedBson>, BsonError> {
        let end = self.collect(0, self.bytes.len())?;
        if end != self.bytes.len() {
            return Err(BsonError::Invalid { offset: end, problem: "there is more behind the document" });
        }
        let Some(first) = self.elements.first().copied().filter(|first| self.name_bytes(first) == ID.as_bytes()) else {
            return Ok(None);
        };
        let id = value_of(first.tag, self.value(&first), MAX_DEPTH - 1)?;
        let Ok(key) = key::id_key(&id) else { return Ok(None) };
        let is_natural = is_natural_id(&id);
        let kind = |at: usize| if at == 0 && is_natural { FieldKind::IsId } else { FieldKind::Stored };
        let count = self.elements.len();
        match self.shape(0, true, kind)? {
            Some(shape) => {
                varint::put_u64(self.row, u64::from(shape.number()));
                for at in usize::from(is_natural)..count {
                    self.put_element(at, MAX_DEPTH - 1)?;
                }
            }
            None => {
                self.row.push(0);
                self.put_plain(0, MAX_DEPTH - 1)?;
            }
        }
        Ok(Some(EncodedBson { id, key }))
    }

    /// Adds the elements of the document or array at `at` to the list. Returns its end, which is at most `limit`.
    fn collect(&mut self, at: usize, limit: usize) -> Result<usize, BsonError> {
        let invalid = |offset: usize, problem: &'static str| BsonError::Invalid { offset, problem };
        let bytes = self.bytes;
        let head = bytes.get(at..limit).and_then(|rest| rest.first_chunk()).ok_or(BsonError::Truncated)?;
        let length = i32::from_le_bytes(*head);
        let length = usize::try_from(length).ok().filter(|length| *length >= 5);
        let length = length.ok_or_else(|| invalid(at, "a document shorter than five bytes"))?;
        if length > limit - at {
            return Err(BsonError::Truncated);
        }
        let end = at + length;
        let document = &bytes[..end];
        let mut at = at + 4;
        loop {
            let tag = *document.get(at).ok_or(BsonError::Truncated)?;
            at += 1;
            if tag == 0 {
                break;
            }
            let name_at = at;
            at += find_zero(&document[at..]).ok_or(BsonError::Truncated)? + 1;
            let value_end = end_of(document, tag, at)?;
            self.elements.push(Element { tag, name_at, value_at: at, value_end });
            at = value_end;
        }
        if at != end {
            return Err(invalid(at, "a document that ends before its length"));
        }
        Ok(end)
    }

    fn name_bytes(&self, element: &Element) -> &'a [u8] {
        &self.bytes[element.name_at..element.value_at - 1]
    }

    fn name(&self, element: &Element) -> Result<&'a str, BsonError> {
        std::str::from_utf8(self.name_bytes(element)).map_err(|_| not_utf8(element.name_at))
    }

    fn value(&self, element: &Element) -> &'a [u8] {
        &self.bytes[element.value_at..element.value_end]
    }

    /// The shape of the elements from `first` on. All of them belong to one document.
    fn shape(
        &mut self,
        first: usize,
        is_document: bool,
        kind: impl Fn(usize) -> FieldKind + Copy,
    ) -> Result<Option<Arc<Shape>>, BsonError> {
        let elements = &self.elements[first..];
        let fields = || elements.iter().enumerate().map(|(at, element)| (self.name_bytes(element), kind(at)));
        let hash = hash_fields(fields());
        let shape = match self.table.find(hash, fields()) {
            Some(shape) => Some(shape),
            None => {
                // Names that equal those of a shape are UTF-8; other names need not be.
                let names = elements.iter().map(|element| self.name(element)).collect::<Result<Vec<_>, _>>()?;
                let fields = names.into_iter().enumerate().map(|(at, name)| (name, kind(at)));
                self.table.find_or_make(hash, is_document, fields)
            }
        };
        let Some(shape) = shape else { return Ok(None) };
        note_shape(shape, self.new_shapes);
        Ok(Some(Arc::clone(shape)))
    }

    /// Appends the elements from `first` on as a self-describing map.
    fn put_plain(&mut self, first: usize, levels: usize) -> Result<(), BsonError> {
        let count = self.elements.len();
        put_head(self.row, MAP, (count - first) as u64);
        for at in first..count {
            let element = self.elements[at];
            put_str(self.row, self.name(&element)?);
            self.put_element(at, levels)?;
        }
        Ok(())
    }

    /// Appends the value of an element; `levels` is the number of levels that it may nest.
    #[inline]
    fn put_element(&mut self, at: usize, levels: usize) -> Result<(), BsonError> {
        let element = self.elements[at];
        let value = self.value(&element);
        match element.tag {
            tag::STRING => put_str(self.row, text(value, element.value_at)?),
            tag::INT32 => put_integer(self.row, i64::from(i32::from_le_bytes(fixed(value)?))),
            tag::DOUBLE => put_double(self.row, f64::from_le_bytes(fixed(value)?)),
            tag::BOOL => match value {
                [0] => self.row.push(FALSE),
                [1] => self.row.push(TRUE),
                _ => {
                    let problem = "a boolean that is neither 0 nor 1";
                    return Err(BsonError::Invalid { offset: element.value_at, problem });
                }
            },
            tag::NULL => self.row.push(NULL),
            tag::OBJECT_ID => {
                self.row.push(OBJECT_ID);
                self.row.extend_from_slice(value);
            }
            tag::DOCUMENT => self.put_map(&element, levels.checked_sub(1).ok_or(BsonError::TooDeep)?)?,
            tag::ARRAY => self.put_array(&element, levels.checked_sub(1).ok_or(BsonError::TooDeep)?)?,
            other => encoding::encode(&value_of(other, value, levels)?, self.row),
        }
        Ok(())
    }

    fn put_map(&mut self, element: &Element, levels: usize) -> Result<(), BsonError> {
        let first = self.elements.len();
        self.collect(element.value_at, element.value_end)?;
        let count = self.elements.len();
        if count == first {
            self.row.push(MAP);
            return Ok(());
        }
        match self.shape(first, false, |_| FieldKind::Stored)? {
            None => self.put_plain(first, levels)?,
            Some(shape) => {
                let start = begin_shaped(self.row, shape.number());
                for at in first..count {
                    self.put_element(at, levels)?;
                }
                end_shaped(self.row, start);
            }
        }
        self.elements.truncate(first);
        Ok(())
    }

    fn put_array(&mut self, element: &Element, levels: usize) -> Result<(), BsonError> {
        let first = self.elements.len();
        self.collect(element.value_at, element.value_end)?;
        let count = self.elements.len();
        put_head(self.row, ARRAY, (count - first) as u64);
        for at in first..count {
            self.put_element(at, levels)?;
        }
        self.elements.truncate(first);
        Ok(())
    }
}

fn not_utf8(offset: usize) -> BsonError {
    BsonError::Invalid { offset, problem: "a string that is not UTF-8" }
}

fn fixed<const N: usize>(value: &[u8]) -> Result<[u8; N], BsonError> {
    value.first_chunk().copied().ok_or(BsonError::Truncated)
}

/// The text of a string value, whose length was checked.
#[inline]
fn text(value: &[u8], offset: usize) -> Result<&str, BsonError> {
    match value.get(4..).and_then(<[u8]>::split_last) {
        Some((0, text)) => std::str::from_utf8(text).map_err(|_| not_utf8(offset)),
        _ => Err(BsonError::Invalid { offset, problem: "a string without a zero at its end" }),
    }
}

/// The end of the value at `at`. Only lengths are checked.
#[inline]
fn end_of(document: &[u8], tag: u8, at: usize) -> Result<usize, BsonError> {
    let rest = document.get(at..).ok_or(BsonError::Truncated)?;
    // The size of a value that begins with its length; `uncounted` bytes are not included in that length.
    let counted = |uncounted: usize| {
        let length = i32::from_le_bytes(fixed(rest)?);
        let problem = "a negative length";
        let length = usize::try_from(length).map_err(|_| BsonError::Invalid { offset: at, problem })?;
        Ok::<usize, BsonError>(length.saturating_add(uncounted))
    };
    let cstring = |from: usize| {
        let rest = rest.get(from..).ok_or(BsonError::Truncated)?;
        Ok::<usize, BsonError>(from + find_zero(rest).ok_or(BsonError::Truncated)? + 1)
    };
    let len = match tag {
        tag::DOUBLE | tag::DATE_TIME | tag::TIMESTAMP | tag::INT64 => 8,
        tag::STRING | tag::CODE | tag::SYMBOL => counted(4)?,
        tag::DOCUMENT | tag::ARRAY | tag::CODE_WITH_SCOPE => counted(0)?,
        tag::BINARY => counted(5)?,
        tag::OBJECT_ID => 12,
        tag::BOOL => 1,
        tag::NULL | tag::UNDEFINED | tag::MIN_KEY | tag::MAX_KEY => 0,
        tag::REGEX => cstring(cstring(0)?)?,
        tag::DB_POINTER => counted(16)?,
        tag::INT32 => 4,
        tag::DECIMAL => 16,
        _ => return Err(BsonError::Invalid { offset: at, problem: "an unknown type" }),
    };
    if len > rest.len() { Err(BsonError::Truncated) } else { Ok(at + len) }
}

#[cfg(test)]
mod tests;

//! Access to values inside a row, decoding only what is needed.

use std::cell::Cell;

use alluvium_codec::{DecodeError, varint};

use super::RowError;
use crate::encoding::{self, ARRAY, BINARY, FALSE, MAP, NULL, SHAPED, STRING, Shapes, TRUE};
use crate::path::array_index;
use crate::shape::{FieldKind, Shape, ShapeTable};
use crate::value::{Binary, Double, LEVELS_MAX, Map, Text, Value};

/// The context for decoding a row: the collection's shapes, and the self-describing encoding of
/// `_id`.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) table: &'a ShapeTable,
    pub(crate) id: &'a [u8],
}

/// Finds the shapes of nested maps for [`encoding::decode_with`], and records the number of an unknown shape.
struct RowShapes<'a> {
    table: &'a ShapeTable,
    unknown: Cell<Option<u32>>,
}

impl Shapes for RowShapes<'_> {
    fn decode_shaped(&self, number: u64, row: &[u8], depth: usize) -> alluvium_codec::Result<Map> {
        let shape = shape_of(number, self.table).map_err(|error| match error {
            RowError::UnknownShape(number) => {
                self.unknown.set(Some(number));
                DecodeError::Invalid("an unknown shape")
            }
            RowError::Damaged(error) => error,
            RowError::TooDeep => DecodeError::Invalid("too many levels"),
        })?;
        self.decode_fields(shape, None, row, depth)
    }
}

impl<'a> RowShapes<'a> {
    /// Runs a decoder. If it fails because of an unknown shape, returns an error with the number of the shape.
    fn run<T>(table: &'a ShapeTable, decode: impl FnOnce(&Self) -> alluvium_codec::Result<T>) -> Result<T, RowError> {
        let shapes = Self { table, unknown: Cell::new(None) };
        decode(&shapes).map_err(|error| shapes.unknown.get().map_or(error.into(), RowError::UnknownShape))
    }

    fn decode_fields(&self, shape: &Shape, id: Option<&[u8]>, row: &[u8], depth: usize) -> alluvium_codec::Result<Map> {
        let mut rest = row;
        let mut entries = Vec::with_capacity(shape.fields().len().min(row.len() + 2));
        for field in shape.fields() {
            let value = match field.kind {
                FieldKind::Stored => encoding::decode_with(&mut rest, depth, self)?,
                FieldKind::IsId => encoding::decode_with(&mut id.ok_or(NESTED_ID)?, depth, self)?,
            };
            entries.push((Value::String(Text::from(&*field.name)), value));
        }
        if rest.is_empty() { Ok(Map { entries }) } else { Err(TRAILING) }
    }
}

pub(crate) const NESTED_ID: DecodeError = DecodeError::Invalid("a nested map with the document's _id");
pub(crate) const TRAILING: DecodeError = DecodeError::Invalid("bytes after the last field");

pub(crate) fn shape_of(number: u64, table: &ShapeTable) -> Result<&Shape, RowError> {
    let number = u32::try_from(number).map_err(|_| DecodeError::Invalid("a shape's number"))?;
    Ok(table.get(number).ok_or(RowError::UnknownShape(number))?)
}

/// Skips `count` values.
#[inline]
fn skip(input: &mut &[u8], count: usize) -> Result<(), RowError> {
    for _ in 0..count {
        encoding::skip(input)?;
    }
    Ok(())
}

/// Reads the number of a first byte, as a length or a count of items of at least one byte each.
#[inline]
fn take_len(nibble: u8, input: &mut &[u8]) -> Result<usize, RowError> {
    match usize::try_from(encoding::number(nibble, input)?) {
        Ok(len) if len <= input.len() => Ok(len),
        _ => Err(DecodeError::Truncated.into()),
    }
}

#[inline]
fn take<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8], RowError> {
    let (bytes, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *input = rest;
    Ok(bytes)
}

/// A value inside a row, borrowed from it. Arrays and maps are decoded only on access.
#[derive(Debug, Clone)]
pub enum ValueRef<'a> {
    /// Null.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer of 32 bits.
    Int32(i32),
    /// An integer of 64 bits.
    Int64(i64),
    /// A double.
    Double(f64),
    /// A string.
    String(&'a str),
    /// BSON's object id.
    ObjectId([u8; 12]),
    /// Milliseconds since 1970 in UTC.
    DateTime(i64),
    /// BSON's subtype, and bytes.
    Binary(u8, &'a [u8]),
    /// A sequence of values.
    Array(ArrayRef<'a>),
    /// Keys (usually strings) and values, in order.
    Map(MapRef<'a>),
    /// A value of any other type, decoded.
    Other(Value),
}

impl<'a> ValueRef<'a> {
    /// Decodes a value from the start of `input`.
    pub(crate) fn take(input: &mut &'a [u8], table: &'a ShapeTable) -> Result<Self, RowError> {
        let before = *input;
        let (code, nibble) = encoding::take_head(input)?;
        Ok(match code {
            NULL => Self::Null,
            TRUE => Self::Bool(true),
            FALSE => Self::Bool(false),
            STRING => {
                let len = take_len(nibble, input)?;
                Self::String(text(take(input, len)?)?)
            }
            BINARY => {
                let len = take_len(nibble, input)?;
                let bytes = take(input, len + 1)?;
                Self::Binary(bytes[0], &bytes[1..])
            }
            ARRAY => {
                let count = take_len(nibble, input)?;
                let bytes = take_values(input, count)?;
                Self::Array(ArrayRef { table, count, bytes })
            }
            MAP => {
                let count = take_len(nibble, input)?;
                let bytes = take_values(input, count * 2)?;
                Self::Map(MapRef { table, form: Form::Plain { count }, bytes })
            }
            SHAPED => {
                let shape = shape_of(encoding::number(nibble, input)?, table)?;
                let bytes = varint::get_bytes(input)?;
                Self::Map(MapRef { table, form: Form::Shaped { shape, id: None }, bytes })
            }
            _ => {
                *input = before;
                Self::from_value(encoding::decode(input)?)
            }
        })
    }

    /// Wraps a decoded value. The elements and fields of arrays and maps cannot be accessed.
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Int32(n) => Self::Int32(n),
            Value::Int64(n) => Self::Int64(n),
            Value::Double(Double(x)) => Self::Double(x),
            Value::ObjectId(id) => Self::ObjectId(id),
            Value::DateTime(ms) => Self::DateTime(ms),
            other => Self::Other(other),
        }
    }

    /// The value, owned.
    ///
    /// # Errors
    /// [`RowError`] if the value is damaged.
    pub fn to_value(&self) -> Result<Value, RowError> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::Bool(*b),
            Self::Int32(n) => Value::Int32(*n),
            Self::Int64(n) => Value::Int64(*n),
            Self::Double(x) => Value::Double(Double(*x)),
            Self::String(text) => Value::from(*text),
            Self::ObjectId(id) => Value::ObjectId(*id),
            Self::DateTime(ms) => Value::DateTime(*ms),
            Self::Binary(subtype, bytes) => Value::Binary(Binary { subtype: *subtype, bytes: bytes.to_vec() }),
            Self::Array(array) => Value::Array(array.to_values()?),
            Self::Map(map) => Value::Map(map.to_map()?),
            Self::Other(value) => value.clone(),
        })
    }

    /// True if it is a number of any type.
    pub fn is_number(&self) -> bool {
        match self {
            Self::Int32(_) | Self::Int64(_) | Self::Double(_) => true,
            Self::Other(value) => value.is_number(),
            _ => false,
        }
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&'a str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The value as a 64-bit integer, as [`Value::as_i64`] returns it: an integer of either width, or a double or
    /// decimal that equals such an integer.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int32(n) => Some(i64::from(*n)),
            Self::Int64(n) => Some(*n),
            Self::Double(x) => Value::Double(Double(*x)).as_i64(),
            Self::Other(value) => value.as_i64(),
            _ => None,
        }
    }

    /// The value as a double, rounded to the nearest, if it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int32(n) => Some(f64::from(*n)),
            Self::Int64(n) => Some(*n as f64),
            Self::Double(x) => Some(*x),
            Self::Other(value) => value.as_f64(),
            _ => None,
        }
    }

    /// The milliseconds since 1970 in UTC, if the value is a date.
    pub fn as_millis(&self) -> Option<i64> {
        match self {
            Self::DateTime(millis) => Some(*millis),
            _ => None,
        }
    }

    /// The elements, if the value is an array.
    pub fn as_array(&self) -> Option<ArrayRef<'a>> {
        match self {
            Self::Array(array) => Some(*array),
            _ => None,
        }
    }

    /// The fields, if the value is a map.
    pub fn as_map(&self) -> Option<MapRef<'a>> {
        match self {
            Self::Map(map) => Some(*map),
            _ => None,
        }
    }

    /// The value at `path`: field names and array positions, separated by dots. An empty path is
    /// the value itself.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to the value are damaged.
    pub fn get_path(self, path: &str) -> Result<Option<ValueRef<'a>>, RowError> {
        let mut value = self;
        if path.is_empty() {
            return Ok(Some(value));
        }
        for step in path.split('.') {
            let next = match &value {
                Self::Map(map) => map.get(step)?,
                Self::Array(array) => match array_index(step) {
                    Some(position) => array.get(position)?,
                    None => None,
                },
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }
}

fn text(bytes: &[u8]) -> Result<&str, RowError> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::Invalid("text that is not UTF-8").into())
}

/// Takes the bytes of the next `count` values.
fn take_values<'a>(input: &mut &'a [u8], count: usize) -> Result<&'a [u8], RowError> {
    let before = *input;
    skip(input, count)?;
    Ok(&before[..before.len() - input.len()])
}

/// An array inside a row.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a> {
    table: &'a ShapeTable,
    count: usize,
    bytes: &'a [u8],
}

impl std::fmt::Debug for ArrayRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> ArrayRef<'a> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The element at `position`, from 0.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to it are damaged.
    pub fn get(&self, position: usize) -> Result<Option<ValueRef<'a>>, RowError> {
        if position >= self.count {
            return Ok(None);
        }
        let mut rest = self.bytes;
        skip(&mut rest, position)?;
        ValueRef::take(&mut rest, self.table).map(Some)
    }

    /// The elements in order. After an error the iterator ends.
    pub fn iter(&self) -> ArrayIter<'a> {
        ArrayIter { array: *self }
    }

    /// Removes the first element, and returns it; `None` if the array is empty.
    pub(crate) fn take_first(&mut self) -> Result<Option<ValueRef<'a>>, RowError> {
        let Some(count) = self.count.checked_sub(1) else { return Ok(None) };
        let element = ValueRef::take(&mut self.bytes, self.table)?;
        self.count = count;
        Ok(Some(element))
    }

    /// True if both are the same bytes of the same row. Equal bytes at different places are not the same.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.bytes, other.bytes)
    }

    /// The elements, owned.
    ///
    /// # Errors
    /// [`RowError`] if an element is damaged.
    pub fn to_values(&self) -> Result<Vec<Value>, RowError> {
        let mut rest = self.bytes;
        RowShapes::run(self.table, |shapes| {
            (0..self.count).map(|_| encoding::decode_with(&mut rest, LEVELS_MAX - 1, shapes)).collect()
        })
    }
}

/// The elements of an [`ArrayRef`].
#[derive(Debug, Clone)]
pub struct ArrayIter<'a> {
    /// The remaining elements.
    array: ArrayRef<'a>,
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Result<ValueRef<'a>, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.array.count = self.array.count.checked_sub(1)?;
        let element = ValueRef::take(&mut self.array.bytes, self.array.table);
        if element.is_err() {
            self.array.count = 0;
        }
        Some(element)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    /// The map has a shape, and the bytes contain only values. `id` is the value of fields that equal `_id`; it is
    /// `Some` in a document.
    Shaped { shape: &'a Shape, id: Option<&'a [u8]> },
    /// The map is self-describing, and the bytes contain keys and values.
    Plain { count: usize },
}

/// A map inside a row, or a document.
#[derive(Clone, Copy)]
pub struct MapRef<'a> {
    pub(crate) table: &'a ShapeTable,
    pub(crate) form: Form<'a>,
    pub(crate) bytes: &'a [u8],
}

impl std::fmt::Debug for MapRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> MapRef<'a> {
    /// The map of a document's row.
    pub(crate) fn of_row(row: &'a [u8], context: Context<'a>) -> Result<Self, RowError> {
        let mut bytes = row;
        let number = varint::get_u64(&mut bytes)?;
        let table = context.table;
        if number > 0 {
            let shape = shape_of(number, table)?;
            return Ok(Self { table, form: Form::Shaped { shape, id: Some(context.id) }, bytes });
        }
        let (code, nibble) = encoding::take_head(&mut bytes)?;
        if code != MAP {
            return Err(DecodeError::Invalid("a row that is not a map").into());
        }
        let count = take_len(nibble, &mut bytes)?;
        Ok(Self { table, form: Form::Plain { count }, bytes })
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        match self.form {
            Form::Shaped { shape, .. } => shape.fields().len(),
            Form::Plain { count } => count,
        }
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shape, unless the map is self-describing.
    pub fn shape(&self) -> Option<&'a Shape> {
        match self.form {
            Form::Shaped { shape, .. } => Some(shape),
            Form::Plain { .. } => None,
        }
    }

    /// Appends the row of the document that this map is a view of. [`crate::Document::from_row`] reads the row under
    /// the same shapes. If the row has no shape, [`crate::Document::from_fields`] reads it, too.
    pub fn put_row(&self, out: &mut Vec<u8>) {
        match self.form {
            Form::Shaped { shape, .. } => varint::put_u64(out, u64::from(shape.number())),
            Form::Plain { count } => {
                varint::put_u64(out, 0);
                encoding::put_head(out, MAP, count as u64);
            }
        }
        out.extend_from_slice(self.bytes);
    }

    /// The value of the first field with this name. Fields before it are skipped, not decoded.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to it are damaged.
    pub fn get(&self, name: &str) -> Result<Option<ValueRef<'a>>, RowError> {
        let mut rest = self.bytes;
        match self.form {
            Form::Shaped { shape, id } => {
                let Some(position) = shape.position(name) else { return Ok(None) };
                if shape.fields()[position].kind == FieldKind::IsId {
                    rest = id.ok_or(NESTED_ID)?;
                } else {
                    skip(&mut rest, shape.stored_before(position))?;
                }
            }
            Form::Plain { count } => {
                if !find_plain(&mut rest, count, name)? {
                    return Ok(None);
                }
            }
        }
        ValueRef::take(&mut rest, self.table).map(Some)
    }

    /// The values of the first fields with these names, in the order of `names`. Reads the map once, up to the last of
    /// these fields.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to the last of them are damaged.
    pub fn get_fields(&self, names: &[&str]) -> Result<Vec<Option<ValueRef<'a>>>, RowError> {
        let Form::Shaped { shape, id: Some(_) } = self.form else {
            return names.iter().map(|name| self.get(name)).collect();
        };
        let mut found = vec![None; names.len()];
        let mut wanted: Vec<(usize, usize)> = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            match shape.position(name) {
                Some(position) if shape.fields()[position].kind == FieldKind::Stored => wanted.push((position, at)),
                Some(_) => found[at] = self.get(name)?,
                None => {}
            }
        }
        wanted.sort_unstable();
        let mut rest = self.bytes;
        let mut passed = 0;
        for (position, at) in wanted {
            let stored = shape.stored_before(position);
            skip(&mut rest, stored - passed)?;
            // The value is not consumed, because a name may occur twice in `names`.
            passed = stored;
            found[at] = Some(ValueRef::take(&mut &*rest, self.table)?);
        }
        Ok(found)
    }

    /// The fields in order: key (a string in documents from JSON and BSON) and value. After an
    /// error the iterator ends.
    pub fn iter(&self) -> MapIter<'a> {
        MapIter { map: *self, position: 0 }
    }

    /// The map, owned.
    ///
    /// # Errors
    /// [`RowError`] if the map is damaged.
    pub fn to_map(&self) -> Result<Map, RowError> {
        let depth = LEVELS_MAX - 1;
        RowShapes::run(self.table, |shapes| match self.form {
            Form::Shaped { shape, id } => shapes.decode_fields(shape, id, self.bytes, depth),
            Form::Plain { count } => {
                let mut rest = self.bytes;
                let mut entries = Vec::with_capacity(count.min(self.bytes.len()));
                for _ in 0..count {
                    let key = encoding::decode_with(&mut rest, depth, shapes)?;
                    entries.push((key, encoding::decode_with(&mut rest, depth, shapes)?));
                }
                if rest.is_empty() { Ok(Map { entries }) } else { Err(TRAILING) }
            }
        })
    }
}

/// Skips to the value of the first key that is the string `name`; false if there is none.
fn find_plain(rest: &mut &[u8], count: usize, name: &str) -> Result<bool, RowError> {
    for _ in 0..count {
        let before = *rest;
        let (code, nibble) = encoding::take_head(rest)?;
        if code == STRING {
            let len = take_len(nibble, rest)?;
            if take(rest, len)? == name.as_bytes() {
                return Ok(true);
            }
        } else {
            *rest = before;
            skip(rest, 1)?;
        }
        skip(rest, 1)?;
    }
    Ok(false)
}

/// The fields of a [`MapRef`].
#[derive(Debug, Clone)]
pub struct MapIter<'a> {
    /// The map, with the remaining bytes.
    map: MapRef<'a>,
    position: usize,
}

impl<'a> MapIter<'a> {
    fn take(&mut self) -> Result<(ValueRef<'a>, ValueRef<'a>), RowError> {
        let table = self.map.table;
        match self.map.form {
            Form::Shaped { shape, id } => {
                let field = &shape.fields()[self.position];
                let value = match field.kind {
                    FieldKind::Stored => ValueRef::take(&mut self.map.bytes, table)?,
                    FieldKind::IsId => {
                        let mut id = id.ok_or(NESTED_ID)?;
                        ValueRef::take(&mut id, table)?
                    }
                };
                Ok((ValueRef::String(&field.name), value))
            }
            Form::Plain { .. } => {
                let key = ValueRef::take(&mut self.map.bytes, table)?;
                Ok((key, ValueRef::take(&mut self.map.bytes, table)?))
            }
        }
    }
}

impl<'a> Iterator for MapIter<'a> {
    type Item = Result<(ValueRef<'a>, ValueRef<'a>), RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let len = self.map.len();
        if self.position >= len {
            if self.position == len && !self.map.bytes.is_empty() {
                self.position += 1;
                return Some(Err(TRAILING.into()));
            }
            return None;
        }
        let field = self.take();
        self.position = if field.is_ok() { self.position + 1 } else { usize::MAX };
        Some(field)
    }
}

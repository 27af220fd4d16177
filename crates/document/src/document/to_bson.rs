//! Encodes a row as BSON directly.

use alluvium_codec::{DecodeError, varint};

use super::DocumentError;
use crate::bson::{BsonError, decode_document, encode_document, find_zero, tag};
use crate::encoding::{self, ARRAY, FALSE, MAP, NULL, POSITIVE, SHAPED, STRING, TRUE};
use crate::row::{Form, MapRef, NESTED_ID, RowError, TRAILING, ValueRef, shape_of};
use crate::shape::{FieldKind, Shape, ShapeTable};
use crate::value::{Double, LEVELS_MAX, Map, Value};

/// Appends a document.
pub(super) fn write_map<'a>(map: &MapRef<'a>, out: &'a mut Vec<u8>) -> Result<(), DocumentError> {
    write(map, false, out)
}

/// As [`write_map`], but refuses values that BSON does not represent exactly.
pub(super) fn write_map_exact<'a>(map: &MapRef<'a>, out: &'a mut Vec<u8>) -> Result<(), DocumentError> {
    write(map, true, out)
}

fn write<'a>(map: &MapRef<'a>, exact: bool, out: &'a mut Vec<u8>) -> Result<(), DocumentError> {
    let mut writer = Writer { table: map.table, exact, out };
    let mut rest = map.bytes;
    match map.form {
        Form::Shaped { shape, id } => writer.put_fields(shape, id, &mut rest, LEVELS_MAX - 1)?,
        Form::Plain { count } => writer.put_plain(count, &mut rest, LEVELS_MAX - 1)?,
    }
    if rest.is_empty() { Ok(()) } else { Err(TRAILING.into()) }
}

/// True if text is UTF-8. Most text is ASCII, and is checked by words, of which the last one may overlap another.
#[inline]
fn is_utf8(text: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let (words, tail) = text.as_chunks::<8>();
    let last = match text.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => tail.iter().fold(0, |all, byte| all | u64::from(*byte)),
    };
    let all = words.iter().fold(last, |all, word| all | u64::from_le_bytes(*word));
    all & HIGH_BITS == 0 || std::str::from_utf8(text).is_ok()
}

struct Writer<'a> {
    table: &'a ShapeTable,
    /// True if values that BSON does not represent exactly are refused.
    exact: bool,
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Reserves space for a length, which [`finish`](Self::finish) writes.
    fn begin(&mut self) -> usize {
        self.out.extend_from_slice(&[0; 4]);
        self.out.len() - 4
    }

    /// Ends a document.
    fn finish(&mut self, start: usize) -> Result<(), DocumentError> {
        self.out.push(0);
        let len = i32::try_from(self.out.len() - start).map_err(|_| BsonError::TooLarge)?;
        self.out[start..start + 4].copy_from_slice(&len.to_le_bytes());
        Ok(())
    }

    fn put_fields(
        &mut self,
        shape: &Shape,
        id: Option<&'a [u8]>,
        rest: &mut &'a [u8],
        levels: usize,
    ) -> Result<(), DocumentError> {
        let start = self.begin();
        for (field, beginning) in shape.bson_fields() {
            // Checked here, so that the first of several errors is returned, as for decoded documents.
            if shape.has_zero_in_name() && field.name.contains('\0') {
                return Err(BsonError::Nul.into());
            }
            let tag_at = self.out.len();
            self.out.extend_from_slice(beginning);
            self.out[tag_at] = match field.kind {
                FieldKind::Stored => self.put_value(rest, levels)?,
                FieldKind::IsId => self.put_value(&mut id.ok_or(NESTED_ID)?, levels)?,
            };
        }
        self.finish(start)
    }

    /// Writes a name, and reserves the type byte before it, whose position is returned.
    #[inline]
    fn begin_element(&mut self, name: &[u8]) -> usize {
        let tag_at = self.out.len();
        self.out.push(0);
        self.out.extend_from_slice(name);
        self.out.push(0);
        tag_at
    }

    fn put_plain(&mut self, count: usize, rest: &mut &'a [u8], levels: usize) -> Result<(), DocumentError> {
        let start = self.begin();
        for _ in 0..count {
            match ValueRef::take(rest, self.table)? {
                ValueRef::String(name) if find_zero(name.as_bytes()).is_some() => {
                    return Err(BsonError::Nul.into());
                }
                ValueRef::String(name) => {
                    let tag_at = self.begin_element(name.as_bytes());
                    self.out[tag_at] = self.put_value(rest, levels)?;
                }
                key => return Err(BsonError::Key(key.to_value()?.type_name()).into()),
            }
        }
        self.finish(start)
    }

    /// Writes a value, and returns its type byte. The frequent types are written in the loop over the fields, without
    /// a call.
    #[inline(always)]
    fn put_value(&mut self, rest: &mut &'a [u8], levels: usize) -> Result<u8, DocumentError> {
        let before = *rest;
        let (code, nibble) = encoding::take_head(rest)?;
        Ok(match code {
            NULL => tag::NULL,
            TRUE | FALSE => {
                self.out.push(u8::from(code == TRUE));
                tag::BOOL
            }
            STRING => {
                self.put_string(encoding::number(nibble, rest)?, rest)?;
                tag::STRING
            }
            POSITIVE => {
                let n = encoding::number(nibble, rest)?;
                self.put_integer(i64::try_from(n).map_err(|_| DecodeError::Invalid("an integer beyond 64 bits"))?)
            }
            _ => {
                *rest = before;
                self.put_rare(rest, levels)?
            }
        })
    }

    #[inline(never)]
    fn put_rare(&mut self, rest: &mut &'a [u8], levels: usize) -> Result<u8, DocumentError> {
        let before = *rest;
        let (code, nibble) = encoding::take_head(rest)?;
        match code {
            ARRAY | MAP | SHAPED => self.put_nested(code, nibble, rest, levels),
            _ => {
                *rest = before;
                self.put_other(encoding::decode(rest)?)
            }
        }
    }

    #[inline(always)]
    fn put_string(&mut self, len: u64, rest: &mut &[u8]) -> Result<(), DocumentError> {
        let len = usize::try_from(len).map_err(|_| DecodeError::Truncated)?;
        let (bytes, after) = rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        *rest = after;
        if !is_utf8(bytes) {
            return Err(DecodeError::Invalid("text that is not UTF-8").into());
        }
        let len = i32::try_from(len + 1).map_err(|_| BsonError::TooLarge)?;
        self.out.extend_from_slice(&len.to_le_bytes());
        self.out.extend_from_slice(bytes);
        self.out.push(0);
        Ok(())
    }

    #[inline]
    fn put_integer(&mut self, n: i64) -> u8 {
        match i32::try_from(n) {
            Ok(n) => {
                self.out.extend_from_slice(&n.to_le_bytes());
                tag::INT32
            }
            Err(_) => {
                self.out.extend_from_slice(&n.to_le_bytes());
                tag::INT64
            }
        }
    }

    fn put_nested(&mut self, code: u8, nibble: u8, rest: &mut &'a [u8], levels: usize) -> Result<u8, DocumentError> {
        let levels = levels.checked_sub(1).ok_or(RowError::TooDeep)?;
        let number = encoding::number(nibble, rest)?;
        if code == SHAPED {
            let shape = shape_of(number, self.table)?;
            let mut values = varint::get_bytes(rest)?;
            self.put_fields(shape, None, &mut values, levels)?;
            return if values.is_empty() { Ok(tag::DOCUMENT) } else { Err(TRAILING.into()) };
        }
        let count = usize::try_from(number).ok().filter(|&count| count <= rest.len()).ok_or(DecodeError::Truncated)?;
        if code == MAP {
            self.put_plain(count, rest, levels)?;
            return Ok(tag::DOCUMENT);
        }
        let start = self.begin();
        for position in 0..count {
            let tag_at = self.begin_element(itoa::Buffer::new().format(position).as_bytes());
            self.out[tag_at] = self.put_value(rest, levels)?;
        }
        self.finish(start)?;
        Ok(tag::ARRAY)
    }

    fn put_other(&mut self, value: Value) -> Result<u8, DocumentError> {
        match value {
            Value::Int32(n) => Ok(self.put_integer(i64::from(n))),
            Value::Int64(n) => {
                self.out.extend_from_slice(&n.to_le_bytes());
                Ok(tag::INT64)
            }
            Value::Double(Double(x)) => {
                self.out.extend_from_slice(&x.to_le_bytes());
                Ok(tag::DOUBLE)
            }
            Value::DateTime(n) => {
                self.out.extend_from_slice(&n.to_le_bytes());
                Ok(tag::DATE_TIME)
            }
            Value::ObjectId(id) => {
                self.out.extend_from_slice(&id);
                Ok(tag::OBJECT_ID)
            }
            other => {
                // A document with only this value, under the empty name: length, tag, end of name,
                // value, end.
                let mut bytes = Vec::new();
                let whole = Map { entries: vec![(Value::from(""), other)] };
                encode_document(&whole, &mut bytes)?;
                if self.exact && decode_document(&bytes)? != whole {
                    return Err(BsonError::Inexact(whole.entries[0].1.type_name()).into());
                }
                self.out.extend_from_slice(&bytes[6..bytes.len() - 1]);
                Ok(bytes[4])
            }
        }
    }
}

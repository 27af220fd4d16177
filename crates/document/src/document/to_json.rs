//! Prints a row as JSON text directly.

use alluvium_codec::{DecodeError, varint};

use super::DocumentError;
use crate::encoding::{self, ARRAY, FALSE, MAP, NULL, POSITIVE, SHAPED, STRING, TRUE};
use crate::json::{self, Format, PrintError, write_integer, write_string};
use crate::row::{Form, MapRef, NESTED_ID, RowError, TRAILING, ValueRef, shape_of};
use crate::shape::{FieldKind, Shape, ShapeTable};
use crate::value::LEVELS_MAX;

/// Appends a document.
pub(super) fn write_map(map: &MapRef<'_>, out: &mut Vec<u8>) -> Result<(), DocumentError> {
    let mut rest = map.bytes;
    let table = map.table;
    match map.form {
        Form::Shaped { shape, id } => write_fields(shape, id, &mut rest, table, LEVELS_MAX - 1, out)?,
        Form::Plain { count } => write_plain(count, &mut rest, table, LEVELS_MAX - 1, out)?,
    }
    if rest.is_empty() { Ok(()) } else { Err(TRAILING.into()) }
}

fn write_fields(
    shape: &Shape,
    id: Option<&[u8]>,
    rest: &mut &[u8],
    table: &ShapeTable,
    levels: usize,
    out: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    out.push(b'{');
    for (position, field) in shape.fields().iter().enumerate() {
        out.extend_from_slice(shape.json_name(position));
        match field.kind {
            FieldKind::Stored => write_value(rest, table, levels, out)?,
            FieldKind::IsId => write_value(&mut id.ok_or(NESTED_ID)?, table, levels, out)?,
        }
    }
    out.push(b'}');
    Ok(())
}

fn write_plain(
    count: usize,
    rest: &mut &[u8],
    table: &ShapeTable,
    levels: usize,
    out: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    out.push(b'{');
    for position in 0..count {
        if position > 0 {
            out.push(b',');
        }
        let before = *rest;
        let (code, nibble) = encoding::take_head(rest)?;
        if code != STRING {
            return Err(not_a_name(before, table));
        }
        write_text(nibble, rest, out)?;
        out.push(b':');
        write_value(rest, table, levels, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// The error for a key that is not a string.
fn not_a_name<'a>(mut rest: &'a [u8], table: &'a ShapeTable) -> DocumentError {
    match ValueRef::take(&mut rest, table).and_then(|key| key.to_value()) {
        Ok(key) => PrintError::Key(key.type_name()).into(),
        Err(error) => error.into(),
    }
}

#[inline]
fn write_value(rest: &mut &[u8], table: &ShapeTable, levels: usize, out: &mut Vec<u8>) -> Result<(), DocumentError> {
    let before = *rest;
    let (code, nibble) = encoding::take_head(rest)?;
    match code {
        NULL => out.extend_from_slice(b"null"),
        TRUE => out.extend_from_slice(b"true"),
        FALSE => out.extend_from_slice(b"false"),
        STRING => write_text(nibble, rest, out)?,
        POSITIVE => {
            let n = encoding::number(nibble, rest)?;
            let n = i64::try_from(n).map_err(|_| DecodeError::Invalid("an integer beyond 64 bits"))?;
            write_integer(n, out);
        }
        ARRAY | MAP | SHAPED => return write_nested(code, nibble, rest, table, levels, out),
        _ => {
            *rest = before;
            json::print(&encoding::decode(rest)?, Format::RELAXED, out)?;
        }
    }
    Ok(())
}

fn write_nested(
    code: u8,
    nibble: u8,
    rest: &mut &[u8],
    table: &ShapeTable,
    levels: usize,
    out: &mut Vec<u8>,
) -> Result<(), DocumentError> {
    let levels = levels.checked_sub(1).ok_or(RowError::TooDeep)?;
    let number = encoding::number(nibble, rest)?;
    if code == SHAPED {
        let shape = shape_of(number, table)?;
        let mut values = varint::get_bytes(rest)?;
        write_fields(shape, None, &mut values, table, levels, out)?;
        return if values.is_empty() { Ok(()) } else { Err(TRAILING.into()) };
    }
    let count = usize::try_from(number).ok().filter(|&count| count <= rest.len()).ok_or(DecodeError::Truncated)?;
    if code == MAP {
        return write_plain(count, rest, table, levels, out);
    }
    out.push(b'[');
    for position in 0..count {
        if position > 0 {
            out.push(b',');
        }
        write_value(rest, table, levels, out)?;
    }
    out.push(b']');
    Ok(())
}

#[inline]
fn write_text(nibble: u8, rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), DocumentError> {
    let len = usize::try_from(encoding::number(nibble, rest)?).map_err(|_| DecodeError::Truncated)?;
    let (bytes, after) = rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
    *rest = after;
    let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::Invalid("text that is not UTF-8"))?;
    write_string(text, out);
    Ok(())
}

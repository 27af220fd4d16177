//! Encodes the JSON text of one value directly for a row.
//!
//! Every function returns `None` on unexpected text. The full parser then reads the line, and reports the error if
//! there is one. Therefore these functions must not accept invalid JSON, but may refuse valid JSON.

use std::sync::Arc;

use super::names::{NESTED, Names};
use super::scan::{digits, plain_end, skip_space, unescape, value_end};
use crate::compare::rank;
use crate::encoding::{ARRAY, FALSE, MAP, NEGATIVE, NULL, POSITIVE, SHAPED, STRING, TRUE, encode, put_head};
use crate::json::{Parser, parse_number};
use crate::key::id_key;
use crate::row::{is_natural_id, note_shape};
use crate::shape::{Shape, ShapeTable};
use crate::value::Value;

/// The context for encoding values.
pub(super) struct Values {
    pub(super) table: Arc<ShapeTable>,
    pub(super) names: Names,
    /// The uncommitted shapes of nested maps in this line.
    pub(super) new_shapes: Vec<Arc<Shape>>,
    /// A buffer for unescaped text.
    scratch: Vec<u8>,
    pub(super) parser: Parser,
}

/// The maximum nesting of a map that represents a scalar in Extended JSON.
const EXTENDED_LEVELS: usize = 4;

impl Values {
    pub(super) fn new(table: Arc<ShapeTable>) -> Self {
        Self { table, names: Names::new(), new_shapes: Vec::new(), scratch: Vec::new(), parser: Parser::new() }
    }

    /// Appends the value at `at` to `row`, and returns the position after the value. `levels` is the number of levels
    /// that it may nest.
    #[inline]
    pub(super) fn put(&mut self, line: &[u8], at: usize, row: &mut Vec<u8>, levels: usize) -> Option<usize> {
        match *line.get(at)? {
            b'"' => self.put_string(line, at + 1, row),
            b'n' => put_word(line, at, b"null", NULL, row),
            b't' => put_word(line, at, b"true", TRUE, row),
            b'f' => put_word(line, at, b"false", FALSE, row),
            b'[' => self.put_array(line, at + 1, row, levels.checked_sub(1)?),
            b'{' => self.put_map(line, at + 1, row, levels.checked_sub(1)?),
            _ => put_number(line, at, row),
        }
    }

    #[inline]
    fn put_string(&mut self, line: &[u8], start: usize, row: &mut Vec<u8>) -> Option<usize> {
        let (text, end) = string(line, start, &mut self.scratch)?;
        put_head(row, STRING, text.len() as u64);
        row.extend_from_slice(text);
        Some(end)
    }

    fn put_array(&mut self, line: &[u8], start: usize, row: &mut Vec<u8>, levels: usize) -> Option<usize> {
        let mut at = skip_space(line, start);
        let head = row.len();
        row.push(ARRAY);
        if line.get(at) == Some(&b']') {
            return Some(at + 1);
        }
        let mut count = 0u64;
        loop {
            at = skip_space(line, self.put(line, at, row, levels)?);
            count += 1;
            match line.get(at)? {
                b',' => at = skip_space(line, at + 1),
                b']' => break,
                _ => return None,
            }
        }
        insert_head(row, head, |row| put_head(row, ARRAY, count));
        Some(at + 1)
    }

    fn put_map(&mut self, line: &[u8], start: usize, row: &mut Vec<u8>, levels: usize) -> Option<usize> {
        let mut at = skip_space(line, start);
        let head = row.len();
        row.push(MAP);
        if line.get(at) == Some(&b'}') {
            return Some(at + 1);
        }
        if line[at..].starts_with(b"\"$") {
            // `start` is the position after the brace.
            return self.put_extended(line, start - 1, head, row, levels);
        }
        let mut node = NESTED;
        loop {
            (node, at) = self.name(line, at, node)?;
            at = skip_space(line, self.put(line, at, row, levels)?);
            match line.get(at)? {
                b',' => at = skip_space(line, at + 1),
                b'}' => break,
                _ => return None,
            }
        }
        let shape = self.names.node(node).shape.as_ref()?;
        note_shape(shape, &mut self.new_shapes);
        let (number, len) = (u64::from(shape.number()), row.len() - head - 1);
        insert_head(row, head, |row| {
            put_head(row, SHAPED, number);
            alluvium_codec::varint::put_u64(row, len as u64);
        });
        Some(at + 1)
    }

    /// Parses a map that begins with an operator separately with the full parser, and accepts it if it represents a
    /// scalar.
    #[cold]
    fn put_extended(
        &mut self,
        line: &[u8],
        start: usize,
        head: usize,
        row: &mut Vec<u8>,
        levels: usize,
    ) -> Option<usize> {
        let (value, end) = self.extended(line, start, levels)?;
        row.truncate(head);
        encode(&value, row);
        Some(end)
    }

    /// The scalar that the map at `start` represents, and the position after it.
    fn extended(&mut self, line: &[u8], start: usize, levels: usize) -> Option<(Value, usize)> {
        let end = value_end(line, start)?;
        // The full parser must count the levels of the map as in the whole line.
        if levels < EXTENDED_LEVELS {
            return None;
        }
        match self.parser.parse(&line[start..end]).ok()? {
            Value::Map(_) | Value::Array(_) | Value::Code(_) => None,
            // The full parser refuses such a decimal if the document must be representable as BSON.
            Value::Decimal(decimal) if !decimal.is_decimal128() => None,
            Value::Regex(regex) if regex.pattern.contains('\0') || regex.options.contains('\0') => None,
            scalar => Some((scalar, end)),
        }
    }

    /// Reads a name that the tree has after `parent`, and the colon. Returns the name's node and
    /// the position of the value.
    #[inline]
    pub(super) fn name(&mut self, line: &[u8], at: usize, parent: u32) -> Option<(u32, usize)> {
        let text = line.get(at..)?.strip_prefix(b"\"")?;
        let (node, len) = self.names.child(parent, text)?;
        let at = skip_space(line, at + 1 + len);
        if line.get(at) != Some(&b':') {
            return None;
        }
        Some((node, skip_space(line, at + 1)))
    }

    /// Appends the key of the `_id` at `at` to `key`, if it is a scalar that its key represents
    /// exactly.
    #[inline]
    pub(super) fn put_id(&mut self, line: &[u8], at: usize, key: &mut Vec<u8>) -> Option<usize> {
        if line.get(at) == Some(&b'"') {
            let (text, end) = string(line, at + 1, &mut self.scratch)?;
            key.push(rank::STRING);
            alluvium_codec::key::put_bytes(key, text);
            return Some(end);
        }
        let (id, end) = match line.get(at) {
            Some(b'{') => self.extended(line, at, EXTENDED_LEVELS)?,
            _ => any_number(line, at)?,
        };
        if !is_natural_id(&id) {
            return None;
        }
        key.extend_from_slice(&id_key(&id).ok()?);
        Some(end)
    }
}

/// Replaces the byte at `head` with the bytes that `put` appends.
#[inline]
fn insert_head(row: &mut Vec<u8>, head: usize, put: impl FnOnce(&mut Vec<u8>)) {
    let end = row.len();
    put(row);
    let len = row.len() - end;
    row[head..].rotate_right(len);
    // The byte that was replaced follows the new head.
    row.remove(head + len);
}

#[inline]
fn put_word(line: &[u8], at: usize, word: &[u8], code: u8, row: &mut Vec<u8>) -> Option<usize> {
    if !line[at..].starts_with(word) {
        return None;
    }
    row.push(code);
    Some(at + word.len())
}

/// The string whose text begins at `start`, unescaped into `scratch` if necessary, and the position
/// after its quote.
#[inline]
pub(super) fn string<'a>(line: &'a [u8], start: usize, scratch: &'a mut Vec<u8>) -> Option<(&'a [u8], usize)> {
    let (end, is_high) = plain_end(line, start);
    let text = line.get(start..end)?;
    if is_high && std::str::from_utf8(text).is_err() {
        return None;
    }
    match line.get(end)? {
        b'"' => Some((text, end + 1)),
        b'\\' => {
            scratch.clear();
            scratch.extend_from_slice(text);
            let end = escaped_string(line, end, scratch)?;
            Some((scratch, end))
        }
        _ => None,
    }
}

/// Reads the rest of a string, beginning at its first escape.
fn escaped_string(line: &[u8], start: usize, out: &mut Vec<u8>) -> Option<usize> {
    let mut at = start;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = unescape(line, at, out)?,
            _ => {
                let (end, is_high) = plain_end(line, at);
                let text = &line[at..end];
                // The text has ended at a control character.
                if text.is_empty() || is_high && std::str::from_utf8(text).is_err() {
                    return None;
                }
                out.extend_from_slice(text);
                at = end;
            }
        }
    }
}

#[inline]
fn put_number(line: &[u8], start: usize, row: &mut Vec<u8>) -> Option<usize> {
    let is_negative = line.get(start) == Some(&b'-');
    let first = start + usize::from(is_negative);
    let (magnitude, end) = digits(line, first);
    // Leading zeros, -0, fractions, exponents and more than 18 digits are left to the parser of
    // numbers.
    let is_plain = end > first && (line[first] != b'0' || end == first + 1 && !is_negative);
    if !is_plain || matches!(line.get(end), Some(b'.' | b'e' | b'E' | b'0'..=b'9')) {
        let (number, end) = any_number(line, start)?;
        encode(&number, row);
        return Some(end);
    }
    put_head(row, if is_negative { NEGATIVE } else { POSITIVE }, magnitude);
    Some(end)
}

/// The number at `start` and the position after it.
fn any_number(line: &[u8], start: usize) -> Option<(Value, usize)> {
    let may_belong = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let rest = line.get(start..)?;
    let end = rest.iter().position(|byte| !may_belong(byte)).unwrap_or(rest.len());
    let (number, len) = parse_number(std::str::from_utf8(&rest[..end]).ok()?).ok()?;
    match number {
        // The full parser refuses such a decimal if the document must be representable as BSON.
        Value::Decimal(decimal) if !decimal.is_decimal128() => None,
        number => Some((number, start + len)),
    }
}

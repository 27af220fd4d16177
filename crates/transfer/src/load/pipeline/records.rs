//! Parses slices of records other than JSON lines.

use super::super::columns::BadField;
use super::super::framed::{next_document, place_after};
use super::super::open::MALFORMED;
use super::super::rows::Rows;
use super::super::slice::Cut;
use super::*;
use alluvium_document::json::Parser;
use alluvium_document::row::{ID, encode_row};
use alluvium_document::speculate::place_id;
use alluvium_document::{Map, bson, json, key};

/// A parsed record, or the reason why it is refused.
type Read<T> = std::result::Result<T, Refused>;

/// Iterates over the records of a slice and counts lines and columns.
struct Walk<'a> {
    bytes: &'a [u8],
    /// The position of `at`.
    place: RecordPlace,
    at: usize,
}

impl<'a> Walk<'a> {
    fn new(slice: &'a Slice) -> Self {
        // The byte order mark is not a character.
        let marked = slice.offset == 0 && slice.bytes.starts_with(super::super::BOM);
        let at = if marked { super::super::BOM.len() } else { 0 };
        let place = RecordPlace { line: 0, offset: slice.offset + at as u64, column: slice.column };
        Self { bytes: &slice.bytes, place, at }
    }

    /// The position of byte `at`, which must not be smaller than in an earlier call. For a byte in
    /// the byte order mark, this is the position after the mark.
    fn place(&mut self, at: usize) -> RecordPlace {
        let at = at.max(self.at);
        let (lines, column) = place_after(&self.bytes[self.at..at], self.place.column);
        self.place.line += lines;
        self.place.column = column;
        self.place.offset += (at - self.at) as u64;
        self.at = at;
        self.place
    }
}

impl<'a> Load<'a> {
    /// Parses a slice of any format except JSON lines.
    pub(super) fn parse_records(&self, encoder: &mut Encoder, slice: &Slice, parsed: &mut Parsed<'a>) {
        match &self.settings.format {
            Format::Bson => self.parse_bson(slice, parsed),
            Format::Csv(_) => self.parse_rows(slice, parsed),
            Format::ExactLines => self.parse_exact(slice, parsed),
            Format::JsonFields => self.parse_fields(encoder, slice, parsed),
            _ => self.parse_elements(encoder, slice, parsed),
        }
        if let (false, Some(broken)) = (parsed.fatal, &slice.broken) {
            let place = RecordPlace { line: parsed.line_count, offset: parsed.end, column: parsed.end_column };
            let refused =
                Refused { line: broken.line, column: broken.column, reason: broken.reason.clone(), error: None };
            parsed.bad.push(BadLine { place, refused, text: Vec::new() });
            parsed.fatal = true;
        }
    }

    /// Stores the position of the end of the slice in `parsed`.
    fn end(&self, mut walk: Walk<'_>, parsed: &mut Parsed<'a>) {
        let end = walk.place(walk.bytes.len());
        parsed.line_count = end.line;
        parsed.end_column = end.column;
    }

    /// Parses elements of an array, or objects one after the other.
    fn parse_elements(&self, encoder: &mut Encoder, slice: &Slice, parsed: &mut Parsed<'a>) {
        let mut row = Vec::with_capacity(4096);
        let mut walk = Walk::new(slice);
        for &Cut { start, end } in &slice.cuts {
            let place = walk.place(start);
            self.parse_text(encoder, &slice.bytes[start..end], place, &mut row, parsed);
            if parsed.fatal {
                return;
            }
        }
        self.end(walk, parsed);
    }

    /// Parses fields of one large object.
    fn parse_fields(&self, encoder: &mut Encoder, slice: &Slice, parsed: &mut Parsed<'a>) {
        let mut row = Vec::with_capacity(4096);
        let mut walk = Walk::new(slice);
        let mut parser = Parser::new();
        for &Cut { start, end } in &slice.cuts {
            let text = &slice.bytes[start..end];
            let place = walk.place(start);
            let keys = parsed.keys.len();
            row.clear();
            let value = name_end(text);
            let mut encoded = self.field(encoder, &mut parser, text, value, place, &mut row, parsed);
            if encoded.is_err()
                && let Some(map) = self.repaired_field(text)
            {
                self.note_repaired(place, parsed);
                encoded = self.encode(map, false, place, &mut row, parsed);
            }
            self.take(encoded, keys, place, &row, text, parsed);
            if parsed.fatal {
                return;
            }
        }
        self.end(walk, parsed);
    }

    /// Parses one field: its name up to `value`, then a colon and its value.
    #[allow(clippy::too_many_arguments, reason = "one step of the loop above")]
    fn field(
        &self,
        encoder: &mut Encoder,
        parser: &mut Parser,
        text: &[u8],
        value: usize,
        place: RecordPlace,
        row: &mut Vec<u8>,
        parsed: &mut Parsed<'a>,
    ) -> Read<Encoded> {
        let name = parser.parse(&text[..value]).map_err(|e| self.refused(&e.into(), place))?;
        let id = key::id_key(&name).map_err(|e| place.refused(e.to_string()))?;
        let colon = value + memchr::memchr(b':', &text[value..]).map_or(0, |at| at + 1);
        let (lines, column) = place_after(&text[..colon], place.column);
        let inner = RecordPlace { line: place.line + lines, column, ..place };
        let text = &text[colon..];
        let start = parsed.keys.len();
        match encoder.encode_json_line_or_new_id(text, &mut || name.clone(), row, &mut parsed.keys) {
            Ok(_) if parsed.keys[start..] != id => {
                Err(place.refused("the value has an _id, which differs from the field's name".to_owned()))
            }
            Ok(encoded) => {
                let has_id = |map: &Map| map.get(ID).is_some();
                let id = ID_NAME_BYTES + bson::bson_size(&name);
                check_size(text, inner, |map| if has_id(map) { 0 } else { id }).map(|()| encoded)
            }
            Err(LineError::NotADocument(_)) => {
                let value = parser.parse(text).map_err(|e| self.refused(&e.into(), inner))?;
                let map: Map = [(Value::from(ID), name), (Value::from("value"), value)].into_iter().collect();
                self.encode(map, false, place, row, parsed)
            }
            Err(error) => Err(self.refused(&error, inner)),
        }
    }

    fn parse_rows(&self, slice: &Slice, parsed: &mut Parsed<'a>) {
        let Some(csv) = self.csv.clone() else { return };
        let repairs = self.settings.on_bad == OnBad::Repair;
        let mut walk = Walk::new(slice);
        // The byte order mark is not part of the first row.
        let begin = walk.at;
        let mut rows = Rows::new(slice.bytes.get(begin..).unwrap_or(&[]), csv.dialect);
        let mut fields = Vec::new();
        let mut row = Vec::with_capacity(4096);
        while let Some(found) = rows.next(&mut fields) {
            let place = walk.place(begin + found.start);
            let keys = parsed.keys.len();
            row.clear();
            let text = slice.bytes.get(begin + found.start..begin + found.end).unwrap_or(&[]);
            let bad =
                |(field, reason): BadField| Refused { line: place.line, column: field as u64, reason, error: None };
            let encoded = match found.malformed {
                Some(field) if !repairs => Err((field, MALFORMED.to_owned())),
                _ => csv.columns.document(&fields, repairs),
            };
            if repairs && (found.malformed.is_some() || std::str::from_utf8(text).is_err()) {
                self.note_repaired(place, parsed);
            }
            let encoded = encoded.map_err(bad);
            let encoded = encoded.and_then(|map| self.encode(map, false, place, &mut row, parsed));
            self.take(encoded, keys, place, &row, text.trim_ascii_end(), parsed);
            if parsed.fatal {
                return;
            }
        }
        self.end(walk, parsed);
    }

    fn parse_bson(&self, slice: &Slice, parsed: &mut Parsed<'a>) {
        let mut row = Vec::with_capacity(4096);
        let mut rest = &slice.bytes[..];
        while let Some((bytes, after)) = next_document(rest) {
            let offset = slice.offset + (slice.bytes.len() - rest.len()) as u64;
            let place = RecordPlace { line: parsed.line_count, offset, column: 0 };
            let keys = parsed.keys.len();
            row.clear();
            let map = self.decode(bytes).map_err(|error| place.refused(refused_text(bytes, &error)));
            let encoded = map.and_then(|map| self.encode(map, true, place, &mut row, parsed));
            self.take(encoded, keys, place, &row, bytes, parsed);
            if parsed.fatal {
                return;
            }
            rest = after;
            parsed.line_count += 1;
        }
    }

    fn parse_exact(&self, slice: &Slice, parsed: &mut Parsed<'a>) {
        let mut row = Vec::with_capacity(4096);
        let mut walk = Walk::new(slice);
        let mut at = walk.at;
        while at < slice.bytes.len() {
            let rest = &slice.bytes[at..];
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let place = walk.place(at);
            at += len + 1;
            if rest[..len].trim_ascii().is_empty() {
                continue;
            }
            let keys = parsed.keys.len();
            row.clear();
            let map = match json::parse_exact(&rest[..len]) {
                Ok(Value::Map(map)) => Ok(map),
                Ok(other) => Err(self.refused(&LineError::NotADocument(other.type_name()), place)),
                Err(error) => Err(self.refused(&error.into(), place)),
            };
            let encoded = map.and_then(|map| self.encode(map, true, place, &mut row, parsed));
            self.take(encoded, keys, place, &row, &rest[..len], parsed);
            if parsed.fatal {
                return;
            }
        }
        self.end(walk, parsed);
    }

    /// Encodes a document as a row and a key. With `keep_order`, an existing `_id` keeps its
    /// position among the fields.
    pub(super) fn encode(
        &self,
        mut map: Map,
        keep_order: bool,
        place: RecordPlace,
        row: &mut Vec<u8>,
        parsed: &mut Parsed<'a>,
    ) -> Read<Encoded> {
        if self.settings.is_for_bson
            && let Some((path, error)) = bson::unfit(&map)
        {
            if self.settings.on_bad != OnBad::Repair {
                return Err(place.refused(LineError::Unfit { path, error }.to_string()));
            }
            bson::fit(&mut map);
            self.note_repaired(place, parsed);
        }
        let field = Some(self.settings.id_field.as_str()).filter(|field| *field != ID);
        let keeps_id_place = keep_order && field.is_none() && map.contains(ID);
        if !keeps_id_place {
            let new_id = || match field {
                None => Ok(Value::ObjectId(self.generated_id(place.offset))),
                Some(_) => Err(LineError::MissingId),
            };
            place_id(&mut map, field, new_id).map_err(|e| self.refused(&e, place))?;
        }
        let id = map.get(ID).ok_or_else(|| self.refused(&LineError::MissingId, place))?;
        let key = key::id_key(id).map_err(|e| self.refused(&e.into(), place))?;
        check_document_size(bson::document_size(&map), place)?;
        let mut encoded = Encoded::default();
        encode_row(&map, &self.shapes, field, row, &mut encoded.new_shapes)
            .map_err(|e| self.refused(&e.into(), place))?;
        parsed.keys.extend_from_slice(&key);
        Ok(encoded)
    }
}

/// The reason for refusing a BSON document, with the `_id` of the document if that can be read.
fn refused_text(bytes: &[u8], error: &bson::BsonError) -> String {
    let lossy = bson::decode_document_lossy(bytes).ok();
    let id = lossy.as_ref().and_then(|map| map.get(ID)).map(alluvium_collections::error::id_text);
    id.map_or_else(|| error.to_string(), |id| format!("the document with _id {id}: {error}"))
}

/// The end of the string at the beginning of `text`, including its quotes.
fn name_end(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

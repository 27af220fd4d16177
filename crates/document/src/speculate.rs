//! Lines of JSON straight to rows, speculating that a line has the shape of the last ones.
//!
//! An [`Encoder`] keeps, for each shape that it has met, the text of a line with holes where values vary
//! ([`template`]), and reads the next line along it. Where the line goes another way, the tree of names
//! ([`names`]) leads on, field by field, until another template fits. Whatever is unexpected sends the line to the full
//! parser: the row and the errors are those of parsing and [`encode_row`] either way.

use std::sync::Arc;

use crate::json::JsonError;
use crate::key::{self, IdError};
use crate::row::{ID, RowError, encode_row};
use crate::shape::{Shape, ShapeTable};
use crate::value::{Map, Value};

mod follow;
mod learn;
mod names;
mod scan;
mod template;
mod value;

use template::{Span, Template};
use value::Values;

/// Why a line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is JSON, but no map of names and values.
    #[error("a document must be a JSON object, this is of type {0}")]
    NotADocument(&'static str),
    /// It has no `_id` and none was given.
    #[error("the document has no _id")]
    MissingId,
    /// `_id` and the field whose value should become `_id` differ.
    #[error("the document has an _id that differs from the field that should become its _id")]
    TwoIds,
    /// Its `_id` is of a type that cannot be one.
    #[error(transparent)]
    Id(#[from] IdError),
    /// It cannot be written as a row.
    #[error(transparent)]
    Row(#[from] RowError),
}

/// What came of a line.
#[derive(Debug, Default)]
pub struct Encoded {
    /// The shapes that the row uses whose definitions must go along in the batch.
    pub new_shapes: Vec<Arc<Shape>>,
    /// The line was read without the full parser.
    pub speculated: bool,
}

/// How often an [`Encoder`] was right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Lines read without the full parser.
    pub speculated: u64,
    /// Of those, lines for which the tree of names was asked, since the first template did not fit.
    pub walked: u64,
    /// Lines that the full parser read, or refused.
    pub parsed: u64,
    /// Templates made.
    pub learnt: u64,
}

/// At most this many templates (of some 10 KB each) are kept; then a new one takes the place of the
/// one that was not used for the longest time.
const MAX_TEMPLATES: usize = 128;
/// Learning costs as much as some ten lines: at most one line in this many on average may be learnt from.
const LEARN_EVERY: u32 = 16;
const MAX_CREDIT: u32 = LEARN_EVERY * 64;

/// Encodes lines of JSON as rows, one after the other. One for each loading thread.
pub struct Encoder {
    id_copy: Option<Box<str>>,
    values: Values,
    templates: Vec<Template>,
    /// The template that the last line followed to its end.
    current: usize,
    credit: u32,
    spans: Vec<Span>,
    counts: Counts,
}

/// An `_id` for a document that has none, made when it is needed, at most once.
struct NewId<'a> {
    make: Option<&'a mut dyn FnMut() -> Value>,
    made: Option<Value>,
}

impl NewId<'_> {
    fn get(&mut self) -> Result<Value, LineError> {
        if self.made.is_none() {
            self.made = self.make.take().map(|make| make());
        }
        self.made.clone().ok_or(LineError::MissingId)
    }
}

/// Puts `_id` first. The value of `id_field` becomes the `_id` (and stays); without one, the `_id` that is there, or
/// that `new_id` gives.
///
/// # Errors
/// [`LineError::TwoIds`], and those of `new_id`.
pub fn place_id(
    document: &mut Map,
    id_field: Option<&str>,
    new_id: impl FnOnce() -> Result<Value, LineError>,
) -> Result<(), LineError> {
    let copy = id_field.and_then(|name| document.get(name));
    let position = document.entries.iter().position(|(key, _)| key.as_str() == Some(ID));
    let id = match (position, copy) {
        (Some(at), Some(copy)) if document.entries[at].1 != *copy => return Err(LineError::TwoIds),
        (Some(at), _) => {
            document.entries[..=at].rotate_right(1);
            return Ok(());
        }
        (None, Some(copy)) => copy.clone(),
        (None, None) => new_id()?,
    };
    document.entries.insert(0, (Value::String(ID.to_owned()), id));
    Ok(())
}

impl Encoder {
    /// An encoder for the collection with these shapes. The value of the field `id_field` becomes the `_id`; that is
    /// `_id` itself by default.
    pub fn new(table: Arc<ShapeTable>, id_field: &str) -> Self {
        Self {
            id_copy: (id_field != ID).then(|| id_field.into()),
            values: Values::new(table),
            templates: Vec::new(),
            current: 0,
            credit: MAX_CREDIT,
            spans: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// How often it was right.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Appends the row of the document in `line` to `row` and the key of its `_id` to `key`. Whitespace around the
    /// document is no error.
    ///
    /// # Errors
    /// [`LineError`]; `row` and `key` are then as before.
    pub fn encode_json_line(
        &mut self,
        line: &[u8],
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<Encoded, LineError> {
        self.encode(line, NewId { make: None, made: None }, row, key)
    }

    /// As [`encode_json_line`](Self::encode_json_line); a document without an `_id` gets one from `new_id`.
    ///
    /// # Errors
    /// As there, but never [`LineError::MissingId`].
    pub fn encode_json_line_or_new_id(
        &mut self,
        line: &[u8],
        new_id: &mut dyn FnMut() -> Value,
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<Encoded, LineError> {
        self.encode(line, NewId { make: Some(new_id), made: None }, row, key)
    }

    fn encode(
        &mut self,
        line: &[u8],
        mut new_id: NewId<'_>,
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<Encoded, LineError> {
        self.credit = (self.credit + 1).min(MAX_CREDIT);
        let (row_start, key_start) = (row.len(), key.len());
        let result = match self.speculate(line, &mut new_id, row, key) {
            Ok(true) => {
                self.counts.speculated += 1;
                return Ok(Encoded { new_shapes: std::mem::take(&mut self.values.new_shapes), speculated: true });
            }
            Ok(false) => {
                row.truncate(row_start);
                key.truncate(key_start);
                self.counts.parsed += 1;
                self.parse(line, &mut new_id, row, key)
            }
            Err(error) => Err(error),
        };
        if result.is_err() {
            row.truncate(row_start);
            key.truncate(key_start);
        }
        result
    }

    /// The way of the full parser.
    fn parse(
        &mut self,
        line: &[u8],
        new_id: &mut NewId<'_>,
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<Encoded, LineError> {
        let mut document = match self.values.parser.parse(line)? {
            Value::Map(document) => document,
            other => return Err(LineError::NotADocument(other.type_name())),
        };
        place_id(&mut document, self.id_copy.as_deref(), || new_id.get())?;
        let id = document.get(ID).ok_or(LineError::MissingId)?;
        key.extend_from_slice(&key::id_key(id)?);
        let mut new_shapes = Vec::new();
        let row_start = row.len();
        encode_row(&document, &self.values.table, self.id_copy.as_deref(), row, &mut new_shapes)?;
        self.learn_from_row(line, &row[row_start..]);
        Ok(Encoded { new_shapes, speculated: false })
    }
}

#[cfg(test)]
mod tests;

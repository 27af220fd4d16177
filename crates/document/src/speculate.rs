//! Encodes lines of JSON as rows. Speculates that each line has the shape of a recent line.
//!
//! For each shape, an [`Encoder`] keeps the text of a line with holes for varying values ([`template`]), and compares
//! the next line with it. If a line diverges, it is read field by field along the tree of names ([`names`]), until
//! another template matches. If anything is unexpected, the full parser reads the line. The row and the errors are
//! always the same as those of parsing and [`encode_row`].

use std::sync::Arc;

use crate::bson::{self, BsonError};
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

/// The reason why a line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The line is JSON, but not a map with names.
    #[error("a document must be a JSON object, this is of type {0}")]
    NotADocument(&'static str),
    /// The document has no `_id`, and none was supplied.
    #[error("the document has no _id")]
    MissingId,
    /// `_id` and the field whose value should become the `_id` have different values.
    #[error("the document has an _id that differs from the field that should become its _id")]
    TwoIds,
    /// The type of the `_id` is not allowed.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The document cannot be encoded as a row.
    #[error(transparent)]
    Row(#[from] RowError),
    /// BSON cannot represent a value, and the encoder refuses such documents.
    #[error("{path}: {error}")]
    Unfit {
        /// The path of the value.
        path: String,
        /// The reason.
        error: BsonError,
    },
}

/// The result of encoding a line.
#[derive(Debug, Default)]
pub struct Encoded {
    /// The shapes of the row whose definitions must be written in the same batch.
    pub new_shapes: Vec<Arc<Shape>>,
    /// True if the line was read without the full parser.
    pub speculated: bool,
}

/// Statistics of an [`Encoder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// The number of lines that were read without the full parser.
    pub speculated: u64,
    /// The number of these lines that needed the tree of names, because the first template did not match.
    pub walked: u64,
    /// The number of lines that the full parser has read, including refused lines.
    pub parsed: u64,
    /// The number of templates that were created.
    pub learnt: u64,
}

/// The maximum number of templates (of about 10 KB each). A further template replaces the least recently used one.
const MAX_TEMPLATES: usize = 128;
/// Learning from a line takes as long as encoding about ten lines. Therefore on average at most one of this many lines
/// is used for learning.
const LEARN_EVERY: u32 = 16;
const MAX_CREDIT: u32 = LEARN_EVERY * 64;

/// Encodes lines of JSON as rows. Each loading thread has its own encoder.
pub struct Encoder {
    id_copy: Option<Box<str>>,
    /// True if documents with values that BSON cannot represent are refused.
    is_for_bson: bool,
    values: Values,
    templates: Vec<Template>,
    /// The template that matched the last line.
    current: usize,
    credit: u32,
    spans: Vec<Span>,
    counts: Counts,
}

/// Generates an `_id` for a document without one, on demand and at most once.
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

/// Makes `_id` the first field. Its value is that of `id_field` (which remains a field), otherwise that of the existing
/// `_id`, otherwise the result of `new_id`.
///
/// # Errors
/// [`LineError::TwoIds`], and errors of `new_id`.
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
    document.entries.insert(0, (Value::from(ID), id));
    Ok(())
}

impl Encoder {
    /// An encoder for the collection with these shapes. The value of the field `id_field` becomes the `_id`; pass `_id`
    /// to keep the `_id` of the document.
    pub fn new(table: Arc<ShapeTable>, id_field: &str) -> Self {
        Self {
            id_copy: (id_field != ID).then(|| id_field.into()),
            is_for_bson: false,
            values: Values::new(table),
            templates: Vec::new(),
            current: 0,
            credit: MAX_CREDIT,
            spans: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// An encoder that refuses documents with values that BSON cannot represent.
    pub fn for_bson(self) -> Self {
        Self { is_for_bson: true, ..self }
    }

    /// The statistics so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The approximate bytes of memory of the templates and the tree of names. The size changes mainly when
    /// [`Counts::learnt`] changes. The function visits all templates and names.
    pub fn memory_bytes(&self) -> usize {
        self.templates.iter().map(Template::memory_bytes).sum::<usize>() + self.values.names.memory_bytes()
    }

    /// Appends the row of the document in `line` to `row`, and the key of its `_id` to `key`. The
    /// document may be surrounded by whitespace.
    ///
    /// # Errors
    /// [`LineError`]; `row` and `key` are then unchanged.
    pub fn encode_json_line(
        &mut self,
        line: &[u8],
        row: &mut Vec<u8>,
        key: &mut Vec<u8>,
    ) -> Result<Encoded, LineError> {
        self.encode(line, NewId { make: None, made: None }, row, key)
    }

    /// As [`encode_json_line`](Self::encode_json_line), but a document without an `_id` gets one
    /// from `new_id`.
    ///
    /// # Errors
    /// As for [`encode_json_line`](Self::encode_json_line), except [`LineError::MissingId`].
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

    /// Encodes a line with the full parser.
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
        if self.is_for_bson
            && let Some((path, error)) = bson::unfit(&document)
        {
            return Err(LineError::Unfit { path, error });
        }
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

//! Documents as they are stored, decoded no further than they are asked.

use std::sync::{Arc, OnceLock};

use alluvium_codec::DecodeError;

use crate::bson::BsonError;
use crate::compare::rank;
use crate::encoding::{self, MAP, STRING, put_head};
use crate::json::{self, Format, JsonError, PrintError};
use crate::key;
use crate::row::{Context, ID, MapIter, MapRef, RowError, ValueRef, encode_plain_row};
use crate::serde::SerdeError;
use crate::shape::{ShapeOptions, ShapeTable};
use crate::value::{Map, Value};

mod exact;
mod to_bson;
mod to_json;

pub use exact::InexactError;

/// Why a document could not be made or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Its row is damaged, or it nests too deep.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The text is no JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON of another type than a map is no document.
    #[error("a document must be a JSON object, this is of type {0}")]
    NotADocument(&'static str),
    /// It has no text in JSON.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// Its text would be read as another document.
    #[error(transparent)]
    Inexact(#[from] InexactError),
    /// It cannot be written as BSON.
    #[error(transparent)]
    Bson(#[from] BsonError),
    /// It does not go with the type that was asked for.
    #[error(transparent)]
    Serde(#[from] SerdeError),
}

impl From<DecodeError> for DocumentError {
    fn from(error: DecodeError) -> Self {
        Self::Row(error.into())
    }
}

/// A document: its row, and what is needed to read it. Clones share everything.
///
/// Values are decoded when they are asked for, so reading one field costs little more than finding it. Damage is found
/// where it lies, which is why reading can fail.
#[derive(Clone)]
pub struct Document {
    inner: Arc<Inner>,
}

struct Inner {
    /// None: the row is self-describing.
    table: Option<Arc<ShapeTable>>,
    /// The row, then the self-describing encoding of what the key says.
    bytes: Vec<u8>,
    id_at: usize,
    id: OnceLock<Value>,
}

/// Relaxed extended JSON on one line. A document that has no JSON (a damaged row, keys that are not strings) is
/// written as its error in angle brackets; [`Document::to_json`] returns the error instead.
impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_json(Format::RELAXED) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

/// What documents without shapes have for a table.
static NO_SHAPES: ShapeTable = ShapeTable::new(ShapeOptions::DEFAULT);

impl Document {
    /// The document that is stored as `row` under `key` in the collection with these shapes.
    ///
    /// # Errors
    /// [`RowError`] if `key` is no key, or the row does not begin as one. What comes later is not looked at yet.
    pub fn from_row(table: &Arc<ShapeTable>, key: &[u8], row: impl Into<Vec<u8>>) -> Result<Self, RowError> {
        let mut bytes = row.into();
        let id_at = bytes.len();
        bytes.reserve_exact(key.len() + 4);
        put_id(key, &mut bytes)?;
        let document = Self::new(Some(Arc::clone(table)), bytes, id_at);
        document.map()?;
        Ok(document)
    }

    /// A document with these fields. It need not have an `_id`.
    ///
    /// # Errors
    /// [`RowError::TooDeep`].
    pub fn from_map(map: &Map) -> Result<Self, RowError> {
        let bytes = encode_plain_row(map)?;
        let id_at = bytes.len();
        Ok(Self::new(None, bytes, id_at))
    }

    /// The document that JSON text represents. Extended JSON is understood.
    ///
    /// # Errors
    /// [`DocumentError::Json`], [`DocumentError::NotADocument`].
    pub fn from_json(text: impl AsRef<[u8]>) -> Result<Self, DocumentError> {
        match json::parse(text.as_ref())? {
            Value::Map(map) => Ok(Self::from_map(&map)?),
            other => Err(DocumentError::NotADocument(other.type_name())),
        }
    }

    fn new(table: Option<Arc<ShapeTable>>, bytes: Vec<u8>, id_at: usize) -> Self {
        Self { inner: Arc::new(Inner { table, bytes, id_at, id: OnceLock::new() }) }
    }

    /// The fields, to be read.
    ///
    /// # Errors
    /// [`RowError`] if the row does not begin as one.
    #[inline]
    pub fn map(&self) -> Result<MapRef<'_>, RowError> {
        let (row, id) = self.inner.bytes.split_at(self.inner.id_at);
        let table = self.inner.table.as_deref().unwrap_or(&NO_SHAPES);
        MapRef::of_row(row, Context { table, id })
    }

    /// A number that the size as a BSON document is not above, found without looking at the values.
    pub(crate) fn bson_size_max(&self) -> usize {
        /// What BSON needs at most for a byte of a row, but for a name that is in a shape: a byte for the type, one
        /// that ends the name, the digits of a position in an array, 17 bytes for a decimal or a pointer, 5 for a map.
        const FOR_A_BYTE: usize = 1 + 1 + 8 + 17 + 5;
        let names = self.inner.table.as_deref().map_or(0, ShapeTable::longest_name);
        // `_id` may represent two fields.
        let bytes = self.inner.bytes.len() + (self.inner.bytes.len() - self.inner.id_at) + 2;
        bytes.saturating_mul(FOR_A_BYTE + names)
    }

    /// The `_id`; null if there is none. It is decoded the first time.
    pub fn id(&self) -> &Value {
        self.inner.id.get_or_init(|| {
            let id = self.get(ID).ok().flatten().and_then(|id| id.to_value().ok());
            id.unwrap_or_default()
        })
    }

    /// The value of the first field with this name.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to it are damaged.
    pub fn get(&self, name: &str) -> Result<Option<ValueRef<'_>>, RowError> {
        self.map()?.get(name)
    }

    /// What lies at a path: field names and array positions, separated by dots.
    ///
    /// # Errors
    /// [`RowError`] if bytes on the way are damaged.
    pub fn get_path(&self, path: &str) -> Result<Option<ValueRef<'_>>, RowError> {
        ValueRef::Map(self.map()?).get_path(path)
    }

    /// The values of the first fields with these names, in their order. The row is gone through once.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to the last of them are damaged.
    pub fn get_fields(&self, names: &[&str]) -> Result<Vec<Option<ValueRef<'_>>>, RowError> {
        self.map()?.get_fields(names)
    }

    /// The fields in order. After an error there are no more.
    ///
    /// # Errors
    /// [`RowError`] if the row does not begin as one.
    pub fn iter(&self) -> Result<MapIter<'_>, RowError> {
        Ok(self.map()?.iter())
    }

    /// The document, decoded whole.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn to_map(&self) -> Result<Map, RowError> {
        self.map()?.to_map()
    }

    /// The document, decoded whole, as a value.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn to_value(&self) -> Result<Value, RowError> {
        self.to_map().map(Value::Map)
    }

    /// Appends the document as relaxed JSON on one line: what [`json::print`] gives, straight from the row.
    ///
    /// # Errors
    /// [`DocumentError::Row`], [`DocumentError::Print`]; `out` is then as it was.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        let before = out.len();
        let result = self.map().map_err(DocumentError::from).and_then(|map| to_json::write_map(&map, out));
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// The document as JSON text in any format.
    ///
    /// # Errors
    /// [`DocumentError::Row`], [`DocumentError::Print`].
    pub fn to_json(&self, format: Format) -> Result<String, DocumentError> {
        let mut out = Vec::with_capacity(self.inner.bytes.len() * 3);
        if format == Format::RELAXED {
            self.write_json(&mut out)?;
        } else {
            json::print_map(&self.to_map()?, format, &mut out)?;
        }
        Ok(String::from_utf8(out).map_err(|_| DecodeError::Invalid("text that is not UTF-8"))?)
    }

    /// Appends the document as BSON: what [`crate::bson::encode_document`] gives, straight from the row.
    ///
    /// # Errors
    /// [`DocumentError::Row`], [`DocumentError::Bson`]; `out` is then as it was.
    pub fn write_bson(&self, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        let before = out.len();
        let result = self.map().map_err(DocumentError::from).and_then(|map| to_bson::write_map(&map, out));
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// As [`Document::write_bson`], and fails where reading the BSON would give another document: decimals whose
    /// scale does not fit, options of regular expressions that are not sorted.
    ///
    /// # Errors
    /// As there, and [`BsonError::Inexact`].
    pub fn write_bson_exact(&self, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        let before = out.len();
        let result = self.map().map_err(DocumentError::from).and_then(|map| to_bson::write_map_exact(&map, out));
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// Checks that Extended JSON, read again, gives this document: with all types if it is canonical, and but for the
    /// widths of integers if it is relaxed.
    ///
    /// # Errors
    /// [`DocumentError::Inexact`], [`DocumentError::Row`].
    pub fn check_json(&self) -> Result<(), DocumentError> {
        exact::check_json(&self.map()?)
    }

    /// The document as BSON.
    ///
    /// # Errors
    /// As [`Document::write_bson`].
    pub fn to_bson_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        let mut out = Vec::with_capacity(self.inner.bytes.len() * 3);
        self.write_bson(&mut out)?;
        Ok(out)
    }

    /// The size as a BSON document, as [`crate::bson::document_size`] returns it.
    ///
    /// # Errors
    /// [`RowError`] if the document is damaged.
    pub fn bson_size(&self) -> Result<usize, RowError> {
        self.map()?.bson_size()
    }

    /// The document as a value of a type of the program.
    ///
    /// # Errors
    /// [`DocumentError::Row`], [`DocumentError::Serde`].
    pub fn deserialize<T: serde::de::DeserializeOwned>(&self) -> Result<T, DocumentError> {
        Ok(crate::serde::from_value(self.to_value()?)?)
    }

    /// The row, as it was read, to be given to [`Document::from_row`] again with the same shapes.
    pub fn row(&self) -> &[u8] {
        &self.inner.bytes[..self.inner.id_at]
    }

    /// The bytes of memory that the row takes.
    pub fn row_len(&self) -> usize {
        self.inner.id_at
    }
}

/// Appends the self-describing encoding of what a key says.
fn put_id(key: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    // Mostly it is text without a zero: the bytes between the rank and the end mark.
    if let Some((&rank::STRING, rest)) = key.split_first()
        && let Some(text) = rest.strip_suffix(&[0, 1])
        && memchr::memchr(0, text).is_none()
    {
        put_head(out, STRING, text.len() as u64);
        out.extend_from_slice(text);
        return Ok(());
    }
    let mut rest = key;
    let id = key::decode(&mut rest)?;
    if !rest.is_empty() {
        return Err(DecodeError::Invalid("bytes after a key").into());
    }
    encoding::encode(&id, out);
    Ok(())
}

impl Default for Document {
    /// The empty document.
    fn default() -> Self {
        Self::new(None, vec![0, MAP], 2)
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.map() {
            Ok(map) => map.fmt(f),
            Err(error) => write!(f, "Document({error})"),
        }
    }
}

impl PartialEq for Document {
    /// The same fields in the same order with identical values. What is damaged equals nothing.
    fn eq(&self, other: &Self) -> bool {
        matches!((self.to_map(), other.to_map()), (Ok(a), Ok(b)) if a == b)
    }
}

impl TryFrom<&Document> for Value {
    type Error = RowError;

    fn try_from(document: &Document) -> Result<Self, RowError> {
        document.to_value()
    }
}

#[cfg(test)]
mod tests;

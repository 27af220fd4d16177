//! Stored documents, decoded only as far as needed.

use std::sync::{Arc, OnceLock};

use alluvium_codec::DecodeError;

use crate::bson::BsonError;
use crate::compare::rank;
use crate::encoding::{self, MAP, STRING, put_head};
use crate::json::{self, Format, JsonError, PrintError};
use crate::key;
use crate::row::{Context, FieldPicker, ID, MapIter, MapRef, RowError, ValueRef, encode_plain_row};
use crate::serde::SerdeError;
use crate::shape::{ShapeOptions, ShapeTable};
use crate::value::{LEVELS_MAX, MAX_DEPTH, Map, Value};

mod exact;
mod to_bson;
mod to_json;

pub use exact::InexactError;

/// The reason why a document cannot be created or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The row is damaged, or the document nests too deep.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The text is not JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON that is not an object is not a document.
    #[error("a document must be a JSON object, this is of type {0}")]
    NotADocument(&'static str),
    /// The document cannot be represented in JSON.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// The JSON text would be parsed as a different document.
    #[error(transparent)]
    Inexact(#[from] InexactError),
    /// The document cannot be encoded as BSON.
    #[error(transparent)]
    Bson(#[from] BsonError),
    /// The document does not match the requested type.
    #[error(transparent)]
    Serde(#[from] SerdeError),
}

impl From<DecodeError> for DocumentError {
    fn from(error: DecodeError) -> Self {
        Self::Row(error.into())
    }
}

/// A document: its row, and the context for decoding it. All clones share one allocation.
///
/// Values are decoded on access, so reading one field costs little more than finding it. Damage is
/// only found in the bytes that are read, so reading can fail.
#[derive(Clone)]
pub struct Document {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` if the row is self-describing.
    table: Option<Arc<ShapeTable>>,
    /// The row, followed by the self-describing encoding of the value in the key if the buffer had room for it.
    bytes: Vec<u8>,
    row_len: usize,
    /// The encoding of the value in the key if it does not follow the row, because a larger buffer would cost more.
    id_apart: Vec<u8>,
    id: OnceLock<Value>,
}

impl Inner {
    /// The row, and the encoding of the value in the key.
    #[inline]
    fn parts(&self) -> (&[u8], &[u8]) {
        let (row, after) = self.bytes.split_at(self.row_len);
        (row, if after.is_empty() { &self.id_apart } else { after })
    }
}

/// Relaxed Extended JSON on one line. If a document cannot be written as JSON (a damaged row, keys that are not
/// strings), the error is written in angle brackets; [`Document::to_json`] returns the error instead.
impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_json(Format::RELAXED) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

/// The table for documents without shapes.
static NO_SHAPES: ShapeTable = ShapeTable::new(ShapeOptions::DEFAULT);

impl Document {
    /// The document that is stored as `row` under `key`, in the collection with these shapes.
    ///
    /// # Errors
    /// [`RowError`] if `key` is not a key, or the start of the row is damaged. The rest is not
    /// checked yet.
    pub fn from_row(table: &Arc<ShapeTable>, key: &[u8], row: impl Into<Vec<u8>>) -> Result<Self, RowError> {
        let (mut bytes, mut id_apart) = (row.into(), Vec::new());
        let row_len = bytes.len();
        if bytes.capacity() - row_len >= id_room(key) {
            put_id(key, &mut bytes)?;
        } else {
            id_apart.reserve_exact(id_room(key));
            put_id(key, &mut id_apart)?;
        }
        let inner = Inner { table: Some(Arc::clone(table)), bytes, row_len, id_apart, id: OnceLock::new() };
        let document = Self { inner: Arc::new(inner) };
        document.map()?;
        Ok(document)
    }

    /// A view of the fields of a row, as of a document from [`Document::from_row`], but without copying the row. The
    /// buffer receives the decoded key.
    ///
    /// # Errors
    /// As [`Document::from_row`].
    pub fn view<'a>(
        table: &'a ShapeTable,
        key: &[u8],
        row: &'a [u8],
        id: &'a mut Vec<u8>,
    ) -> Result<MapRef<'a>, RowError> {
        id.clear();
        put_id(key, id)?;
        MapRef::of_row(row, Context { table, id })
    }

    /// An empty buffer for a row of `row_len` bytes, from which [`Document::from_row`] then makes a
    /// document without another allocation.
    pub fn row_buffer(row_len: usize, key: &[u8]) -> Vec<u8> {
        Vec::with_capacity(row_len + id_room(key))
    }

    /// The document of a row that a [`FieldPicker`] has made. The shapes are those of the rows that the fields were
    /// copied from.
    ///
    /// # Errors
    /// [`RowError`] if the start of the row is damaged. The rest is not checked yet.
    pub fn from_fields(table: &Arc<ShapeTable>, row: impl Into<Vec<u8>>) -> Result<Self, RowError> {
        let document = Self::new(Some(Arc::clone(table)), row.into());
        document.map()?;
        Ok(document)
    }

    /// A document of the fields that the picker copies from this document.
    ///
    /// # Errors
    /// [`RowError`] if the row is damaged.
    pub fn pick(&self, picker: &mut FieldPicker) -> Result<Self, RowError> {
        let mut bytes = Vec::new();
        picker.put_row(self.map()?, &mut bytes)?;
        Ok(Self::new(self.inner.table.clone(), bytes))
    }

    /// A document with these fields. An `_id` is not required.
    ///
    /// # Errors
    /// [`RowError::TooDeep`].
    pub fn from_map(map: &Map) -> Result<Self, RowError> {
        Ok(Self::new(None, encode_plain_row(map, MAX_DEPTH)?))
    }

    /// A document of a result, which may nest deeper than a document that is stored: up to [`LEVELS_MAX`].
    ///
    /// # Errors
    /// [`RowError::TooDeep`].
    pub fn of_result(map: &Map) -> Result<Self, RowError> {
        Ok(Self::new(None, encode_plain_row(map, LEVELS_MAX)?))
    }

    /// Parses a document from JSON text, including Extended JSON.
    ///
    /// # Errors
    /// [`DocumentError::Json`], [`DocumentError::NotADocument`].
    pub fn from_json(text: impl AsRef<[u8]>) -> Result<Self, DocumentError> {
        match json::parse(text.as_ref())? {
            Value::Map(map) => Ok(Self::from_map(&map)?),
            other => Err(DocumentError::NotADocument(other.type_name())),
        }
    }

    /// A document whose row has all its fields.
    fn new(table: Option<Arc<ShapeTable>>, bytes: Vec<u8>) -> Self {
        let row_len = bytes.len();
        Self { inner: Arc::new(Inner { table, bytes, row_len, id_apart: Vec::new(), id: OnceLock::new() }) }
    }

    /// A view of the fields.
    ///
    /// # Errors
    /// [`RowError`] if the start of the row is damaged.
    #[inline]
    pub fn map(&self) -> Result<MapRef<'_>, RowError> {
        let (row, id) = self.inner.parts();
        let table = self.inner.table.as_deref().unwrap_or(&NO_SHAPES);
        MapRef::of_row(row, Context { table, id })
    }

    /// An upper bound of the size as a BSON document, computed without reading the values.
    pub(crate) fn bson_size_max(&self) -> usize {
        /// The maximum size in BSON per byte of a row, without names in shapes: a type byte, the end of the name, the
        /// digits of a position in an array, 17 bytes for a decimal or a pointer, 5 bytes for a map.
        const FOR_A_BYTE: usize = 1 + 1 + 8 + 17 + 5;
        let names = self.inner.table.as_deref().map_or(0, ShapeTable::longest_name);
        // The value of `_id` is counted twice, because another field may equal `_id`.
        let (row, id) = self.inner.parts();
        let bytes = row.len() + 2 * id.len() + 2;
        bytes.saturating_mul(FOR_A_BYTE + names)
    }

    /// The `_id`; null if the document has no `_id`. It is decoded on the first access.
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

    /// The value at a path: field names and array positions, separated by dots.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to the value are damaged.
    pub fn get_path(&self, path: &str) -> Result<Option<ValueRef<'_>>, RowError> {
        ValueRef::Map(self.map()?).get_path(path)
    }

    /// The values of the first fields with these names, in the order of `names`. Reads the row
    /// once.
    ///
    /// # Errors
    /// [`RowError`] if bytes up to the last of them are damaged.
    pub fn get_fields(&self, names: &[&str]) -> Result<Vec<Option<ValueRef<'_>>>, RowError> {
        self.map()?.get_fields(names)
    }

    /// The fields in order. After an error the iterator ends.
    ///
    /// # Errors
    /// [`RowError`] if the start of the row is damaged.
    pub fn iter(&self) -> Result<MapIter<'_>, RowError> {
        Ok(self.map()?.iter())
    }

    /// Decodes the whole document.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn to_map(&self) -> Result<Map, RowError> {
        self.map()?.to_map()
    }

    /// Decodes the whole document as a value.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn to_value(&self) -> Result<Value, RowError> {
        self.to_map().map(Value::Map)
    }

    /// Appends the document as relaxed JSON on one line, as [`json::print`] does, without decoding
    /// it to a map.
    ///
    /// # Errors
    /// [`DocumentError::Row`], [`DocumentError::Print`]; `out` is then unchanged.
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

    /// Appends the document as BSON, as [`crate::bson::encode_document`] does, without decoding it
    /// to a map.
    ///
    /// # Errors
    /// [`DocumentError::Row`], [`DocumentError::Bson`]; `out` is then unchanged.
    pub fn write_bson(&self, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        let before = out.len();
        let result = self.map().map_err(DocumentError::from).and_then(|map| to_bson::write_map(&map, out));
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// As [`Document::write_bson`], but fails if decoding the BSON would give a different document:
    /// decimals whose scale does not fit, options of regular expressions that are not sorted.
    ///
    /// # Errors
    /// As for [`Document::write_bson`], and [`BsonError::Inexact`].
    pub fn write_bson_exact(&self, out: &mut Vec<u8>) -> Result<(), DocumentError> {
        let before = out.len();
        let result = self.map().map_err(DocumentError::from).and_then(|map| to_bson::write_map_exact(&map, out));
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// Checks that parsing the document's Extended JSON gives the same document: canonical JSON
    /// with all types, relaxed JSON except for the widths of integers.
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

    /// Deserializes the document, without decoding it to a map. Fields that the type does not read are skipped.
    ///
    /// # Errors
    /// [`DocumentError::Row`] if a part that is read is damaged; [`DocumentError::Serde`].
    pub fn deserialize<T: serde::de::DeserializeOwned>(&self) -> Result<T, DocumentError> {
        Ok(crate::serde::from_row(self.map()?)??)
    }

    /// The row, for passing to [`Document::from_row`] with the same shapes.
    pub fn row(&self) -> &[u8] {
        self.inner.parts().0
    }

    /// The memory for the row in bytes.
    pub fn row_len(&self) -> usize {
        self.inner.row_len
    }
}

/// The bytes to reserve for the `_id` in a key.
fn id_room(key: &[u8]) -> usize {
    key.len() + 4
}

/// Appends the self-describing encoding of the value in a key.
fn put_id(key: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    // The `_id` is usually a string without a zero, which is stored between the rank and the terminator.
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
        Self::new(None, vec![0, MAP])
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
    /// True if both have the same fields in the same order with identical values. A damaged
    /// document equals nothing.
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

//! Documents in read-only stores: the label of a store, the keys of documents, and their decoding.

use crate::error::{Error, Result};
use crate::ids::{id_key, key_text};
use crate::memory::of_evaluations;
use crate::names::FullName;
use crate::read::{decode, decode_copy, with_id};
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_document::{Document, Map, Value};
use alluvium_env::Env;
use alluvium_query::expression::Memory;
use alluvium_readonly::ReadOnlyOptions;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// First byte of the label of a store of documents; the collection's full name follows.
const DOCUMENTS: u8 = 1;
/// First byte of the label of a store of keys and values; a name follows.
const PAIRS: u8 = 2;

/// The content of a read-only store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnlyContent {
    /// The documents of a collection.
    Documents,
    /// Keys and values. As documents, they have the fields `_id` and `value`. Each of these is a string if the bytes
    /// are text without control characters, and otherwise binary.
    KeyValues,
}

impl ReadOnlyContent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::KeyValues => "keys and values",
        }
    }
}

/// An open read-only store of documents, or of keys and values shown as documents. Cheap to clone.
#[derive(Clone)]
pub struct ReadOnlyDocuments {
    inner: Arc<Inner>,
}

/// The part of a store that its clones share.
struct Inner {
    pairs: alluvium_readonly::ReadOnly,
    content: ReadOnlyContent,
    name: FullName,
    shapes: Arc<ShapeTable>,
    memory_bytes: usize,
    memory: Memory,
}

/// The label of a store.
pub fn label(content: ReadOnlyContent, name: &FullName) -> Vec<u8> {
    let mut label = vec![match content {
        ReadOnlyContent::Documents => DOCUMENTS,
        ReadOnlyContent::KeyValues => PAIRS,
    }];
    label.extend_from_slice(name.to_string().as_bytes());
    label
}

/// The content and the name in a label; `None` for the label of another application.
pub fn read_label(label: &[u8]) -> Option<(ReadOnlyContent, FullName)> {
    let (kind, name) = label.split_first()?;
    let content = match *kind {
        DOCUMENTS => ReadOnlyContent::Documents,
        PAIRS => ReadOnlyContent::KeyValues,
        _ => return None,
    };
    Some((content, FullName::parse(std::str::from_utf8(name).ok()?).ok()?))
}

impl ReadOnlyDocuments {
    /// Opens the store in a directory.
    ///
    /// # Errors
    /// Errors of opening the store; [`Error::OtherContent`] if it does not hold documents.
    pub fn open(env: Env, path: &Path, options: &ReadOnlyOptions) -> Result<Self> {
        let pairs = alluvium_readonly::ReadOnly::open_in(env, path, options)?;
        let (content, name) = read_label(pairs.label()).ok_or_else(|| Error::OtherContent {
            path: path.to_owned(),
            found: "the content of another application",
            expected: "documents",
        })?;
        let shapes = read_shapes(&pairs.aux()?).map_err(|reason| Error::DamagedDocument {
            collection: name.to_string(),
            id: "(shapes)".to_owned(),
            reason,
        })?;
        let (memory, memory_bytes) = (of_evaluations(pairs.query_memory()), options.memory_bytes);
        Ok(Self { inner: Arc::new(Inner { pairs, content, name, shapes, memory_bytes, memory }) })
    }

    /// The keys and values.
    pub fn pairs(&self) -> &alluvium_readonly::ReadOnly {
        &self.inner.pairs
    }

    /// The shapes of the documents.
    pub(crate) fn shapes(&self) -> &Arc<ShapeTable> {
        &self.inner.shapes
    }

    /// The field names that many documents share, sorted.
    pub fn field_names(&self) -> Vec<String> {
        let fields = self.inner.shapes.iter().flat_map(|shape| shape.fields());
        let names: BTreeSet<&str> = fields.map(|field| &*field.name).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// Accounts for the memory of values that expressions create.
    pub fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    /// The memory budget.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes
    }

    /// The content of the store.
    pub fn content(&self) -> ReadOnlyContent {
        self.inner.content
    }

    /// The full name of the collection.
    pub fn name(&self) -> &FullName {
        &self.inner.name
    }

    /// The document with this `_id`, or the pair with this key.
    ///
    /// # Errors
    /// [`Error::InvalidId`]; damage.
    pub fn get(&self, id: &Value) -> Result<Option<Document>> {
        let key = self.key(id)?;
        let mut row = Vec::new();
        if !self.inner.pairs.get(&key, &mut row)? {
            return Ok(None);
        }
        self.document(&key, row).map(Some).map_err(|error| with_id(error, id))
    }

    /// The key of an `_id`.
    ///
    /// # Errors
    /// [`Error::InvalidId`].
    pub fn key(&self, id: &Value) -> Result<Vec<u8>> {
        match (self.inner.content, id) {
            (ReadOnlyContent::Documents, id) => id_key(id),
            (ReadOnlyContent::KeyValues, Value::String(text)) => Ok(text.as_bytes().to_vec()),
            (ReadOnlyContent::KeyValues, Value::Binary(binary)) => Ok(binary.bytes.clone()),
            (ReadOnlyContent::KeyValues, other) => {
                let what = format!(
                    "the keys of this store are strings or binary, not of type {}: write the _id as a string",
                    other.type_name()
                );
                Err(Error::InvalidId { code: 2, what })
            }
        }
    }

    /// The key of an `_id`; `None` if no document of the store can have it.
    pub(crate) fn key_of(&self, id: &Value) -> Option<Vec<u8>> {
        let key = self.key(id).ok()?;
        match self.inner.content {
            ReadOnlyContent::Documents => Some(key),
            // Bytes that are text become a string, so a binary `_id` with such bytes is not found.
            ReadOnlyContent::KeyValues => (bytes_value(key.clone()) == *id).then_some(key),
        }
    }

    /// As [`ReadOnlyDocuments::document`]; copies the value.
    pub(crate) fn document_copy(&self, key: &[u8], row: &[u8]) -> Result<Document> {
        match self.inner.content {
            ReadOnlyContent::Documents => decode_copy(&self.inner.shapes, &self.inner.name, key, row),
            ReadOnlyContent::KeyValues => self.document(key, row.to_vec()),
        }
    }

    /// The document of a key and the value that is stored under it.
    pub fn document(&self, key: &[u8], row: Vec<u8>) -> Result<Document> {
        let Inner { content, name, shapes, .. } = &*self.inner;
        match content {
            ReadOnlyContent::Documents => decode(shapes, name, key, row),
            ReadOnlyContent::KeyValues => {
                let map: Map = [("_id", bytes_value(key.to_vec())), ("value", bytes_value(row))]
                    .into_iter()
                    .map(|(field, value)| (Value::from(field), value))
                    .collect();
                Document::from_map(&map).map_err(|error| Error::DamagedDocument {
                    collection: name.to_string(),
                    id: key_text(key),
                    reason: error.to_string(),
                })
            }
        }
    }
}

/// Bytes as a value: a string if they are text without control characters.
fn bytes_value(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => Value::from(text),
        Ok(text) => Value::Binary(alluvium_document::Binary { subtype: 0, bytes: text.into_bytes() }),
        Err(error) => Value::Binary(alluvium_document::Binary { subtype: 0, bytes: error.into_bytes() }),
    }
}

fn read_shapes(mut aux: &[u8]) -> std::result::Result<Arc<ShapeTable>, String> {
    let mut shapes = Vec::new();
    while !aux.is_empty() {
        shapes.push(Shape::decode(&mut aux).map_err(|error| error.to_string())?);
    }
    let next = shapes.iter().map(Shape::number).max().unwrap_or(0) + 1;
    let table = ShapeTable::open(ShapeOptions::default(), shapes, next).map_err(|error| error.to_string())?;
    Ok(Arc::new(table))
}

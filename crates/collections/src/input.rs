//! What can be given as a document.

use crate::error::{Error, Result};
use alluvium_document::{Document, Map, Value};

/// Anything that is a document: maps, JSON text, BSON, stored documents.
///
/// For your own types see `Collection::typed`.
pub trait IntoDocument {
    /// The document's fields.
    ///
    /// # Errors
    /// [`Error::Json`] or [`Error::InvalidDocument`].
    fn into_map(self) -> Result<Map>;
}

impl IntoDocument for Map {
    fn into_map(self) -> Result<Map> {
        Ok(self)
    }
}

impl IntoDocument for &Map {
    fn into_map(self) -> Result<Map> {
        Ok(self.clone())
    }
}

impl IntoDocument for Value {
    fn into_map(self) -> Result<Map> {
        match self {
            Value::Map(map) => Ok(map),
            other => Err(Error::InvalidDocument(format!("it is of type {}, not a map", other.type_name()))),
        }
    }
}

/// JSON text, relaxed or canonical extended JSON included.
impl IntoDocument for &str {
    fn into_map(self) -> Result<Map> {
        alluvium_document::json::parse(self.as_bytes()).map_err(|e| Error::Json(e.to_string()))?.into_map()
    }
}

impl IntoDocument for String {
    fn into_map(self) -> Result<Map> {
        self.as_str().into_map()
    }
}

impl IntoDocument for Document {
    fn into_map(self) -> Result<Map> {
        (&self).into_map()
    }
}

impl IntoDocument for &Document {
    fn into_map(self) -> Result<Map> {
        self.to_map().map_err(|e| Error::InvalidDocument(e.to_string()))
    }
}

impl IntoDocument for bson::Document {
    fn into_map(self) -> Result<Map> {
        Value::from(bson::Bson::Document(self)).into_map()
    }
}

impl IntoDocument for serde_json::Value {
    fn into_map(self) -> Result<Map> {
        Value::try_from(self).map_err(|e| Error::InvalidDocument(e.to_string()))?.into_map()
    }
}

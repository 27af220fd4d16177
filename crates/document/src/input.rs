//! What can be given as a document, and what a document can be read as.

use crate::document::{Document, DocumentError};
use crate::serde::InputError;
use crate::value::{Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Anything that is a document: JSON text, maps, structs, values of other crates, stored documents.
///
/// It is implemented for every type of serde, and for references to it. Text (`&str`, `String`, `&String`, `Cow<str>`)
/// is parsed as JSON, relaxed or canonical Extended JSON included, and `serde_json::Value` is read in the same way.
/// Maps, structs and [`Map`] become documents as [`crate::serde`] describes. Everything else is refused when it is
/// used.
pub trait IntoDocument {
    /// The document's fields.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_map(self) -> Result<Map, InputError>;
}

impl<T: Serialize> IntoDocument for T {
    fn into_map(self) -> Result<Map, InputError> {
        crate::serde::to_map(&self)
    }
}

// `Document` must not implement `Serialize` or `Deserialize`: then these implementations would overlap with those for
// all types of serde.
impl IntoDocument for Document {
    fn into_map(self) -> Result<Map, InputError> {
        (&self).into_map()
    }
}

impl IntoDocument for &Document {
    fn into_map(self) -> Result<Map, InputError> {
        self.to_map().map_err(|error| InputError::Invalid(error.to_string()))
    }
}

/// What is accepted as a document of a collection of `T`: anything that is a document ([`IntoDocument`]) where `T` is
/// [`Document`], and otherwise `T` and `&T` only.
pub trait DocumentFor<T> {
    /// The document's fields.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_fields(self) -> Result<Map, InputError>;
}

impl<D: IntoDocument> DocumentFor<Document> for D {
    fn into_fields(self) -> Result<Map, InputError> {
        self.into_map()
    }
}

impl<T: Serialize> DocumentFor<T> for T {
    fn into_fields(self) -> Result<Map, InputError> {
        crate::serde::to_map(&self)
    }
}

impl<T: Serialize> DocumentFor<T> for &T {
    fn into_fields(self) -> Result<Map, InputError> {
        crate::serde::to_map(self)
    }
}

/// Why a document is not a value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("document {id:?}: {reason}")]
pub struct FromDocumentError {
    /// The document's `_id`.
    pub id: Value,
    /// What is wrong with it: damage, or another type.
    pub reason: DocumentError,
}

/// What documents can be read as: [`Document`] itself, and every type that serde can deserialize.
pub trait FromDocument: Sized {
    /// The document as a value of this type.
    ///
    /// # Errors
    /// [`FromDocumentError`] if it is damaged, or does not fit the type. [`Document`] takes any.
    fn from_document(document: Document) -> Result<Self, FromDocumentError>;
}

impl FromDocument for Document {
    #[inline]
    fn from_document(document: Document) -> Result<Self, FromDocumentError> {
        Ok(document)
    }
}

impl<T: DeserializeOwned> FromDocument for T {
    fn from_document(document: Document) -> Result<Self, FromDocumentError> {
        document.deserialize().map_err(|reason| FromDocumentError { id: document.id().clone(), reason })
    }
}

#[cfg(test)]
mod tests;

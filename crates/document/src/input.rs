//! Types that are accepted as documents, and types that documents can be converted to.

use crate::document::{Document, DocumentError};
use crate::serde::{Given, InputError};
use crate::value::{Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A type that is accepted as a document: JSON text, maps, structs, values of other crates, stored documents.
///
/// It is implemented for every type that serde can serialize, and for references to it. Text
/// (`&str`, `String`, `&String`, `Cow<str>`) is parsed as JSON, including relaxed and canonical
/// Extended JSON; `serde_json::Value` is interpreted in the same way. Maps, structs and [`Map`]
/// become documents as described in [`crate::serde`]. Any other value is refused on use.
pub trait IntoDocument {
    /// The document's fields.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_map(self) -> Result<Map, InputError>;

    /// The document in the given form. Text is not parsed.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_given(self) -> Result<Given, InputError>
    where
        Self: Sized,
    {
        self.into_map().map(Given::Fields)
    }

    /// The fields of a document, or any other value, such as the array of stages of a pipeline. The elements of an array
    /// may be JSON text. The caller checks the type.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_value(self) -> Result<Value, InputError>
    where
        Self: Sized,
    {
        self.into_map().map(Value::Map)
    }
}

impl<T: Serialize> IntoDocument for T {
    fn into_map(self) -> Result<Map, InputError> {
        crate::serde::to_map(&self)
    }

    fn into_given(self) -> Result<Given, InputError> {
        crate::serde::to_given(&self)
    }

    fn into_value(self) -> Result<Value, InputError> {
        crate::serde::to_any_value(&self)
    }
}

// `Document` must not implement `Serialize` or `Deserialize`, because these implementations would
// then overlap with those for all types of serde.
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

/// A document in BSON bytes. Inserts store it without decoding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bson<'a>(pub &'a [u8]);

impl IntoDocument for Bson<'_> {
    fn into_map(self) -> Result<Map, InputError> {
        Given::Bson(self.0.to_vec()).into_fields()
    }

    fn into_given(self) -> Result<Given, InputError> {
        Ok(Given::Bson(self.0.to_vec()))
    }
}

/// A type that is accepted as a document of a collection of `T`. If `T` is [`Document`], any document
/// ([`IntoDocument`]) is accepted, otherwise only `T` and `&T`.
pub trait DocumentFor<T> {
    /// The document's fields.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_fields(self) -> Result<Map, InputError>;

    /// The document in the given form. Text is not parsed.
    ///
    /// # Errors
    /// [`InputError`].
    fn into_given(self) -> Result<Given, InputError>
    where
        Self: Sized,
    {
        self.into_fields().map(Given::Fields)
    }
}

impl<D: IntoDocument> DocumentFor<Document> for D {
    fn into_fields(self) -> Result<Map, InputError> {
        self.into_map()
    }

    fn into_given(self) -> Result<Given, InputError> {
        IntoDocument::into_given(self)
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

/// The error of converting a document to a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("document {id:?}: {reason}")]
pub struct FromDocumentError {
    /// The document's `_id`.
    pub id: Value,
    /// The reason: the document is damaged, or does not match the type.
    pub reason: DocumentError,
}

/// A type that documents can be converted to: [`Document`] itself, or a type that serde can deserialize.
pub trait FromDocument: Sized {
    /// The document as a value of this type.
    ///
    /// # Errors
    /// [`FromDocumentError`] if the document is damaged or does not match the type. [`Document`] matches every
    /// document.
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

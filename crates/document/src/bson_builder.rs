//! Builds a BSON document field by field.

use crate::bson::{BsonError, LEVELS_MAX, begin, finish, put_cstring, put_value, tag, tag_of};
use crate::document::{Document, DocumentError};
use crate::value::Value;

/// The documents within each other for which a new builder has room.
const LEVELS: usize = 4;

/// Appends a BSON document to a buffer, field by field. Used for replies that contain stored documents, without
/// decoding these. Every [`BsonBuilder::open_document`] and [`BsonBuilder::open_array`] needs a [`BsonBuilder::close`].
#[derive(Debug)]
pub struct BsonBuilder {
    out: Vec<u8>,
    /// The start of each open document, and the count of elements if it is an array.
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    start: usize,
    elements: Option<usize>,
}

impl BsonBuilder {
    /// Begins a document at the end of `out`.
    pub fn new(mut out: Vec<u8>) -> Self {
        let start = begin(&mut out);
        let mut open = Vec::with_capacity(LEVELS);
        open.push(Open { start, elements: None });
        Self { out, open }
    }

    /// Adds a field.
    ///
    /// # Errors
    /// [`BsonError`]; nothing was added in that case.
    pub fn put(&mut self, name: &str, value: &Value) -> Result<(), BsonError> {
        let before = self.out.len();
        self.out.push(tag_of(value));
        let put = put_cstring(name, &mut self.out).and_then(|()| put_value(value, LEVELS_MAX, &mut self.out));
        if put.is_err() {
            self.out.truncate(before);
        }
        put
    }

    /// Adds a field that is a document, whose bytes are not checked.
    ///
    /// # Errors
    /// [`BsonError::Nul`]; nothing was added in that case.
    pub fn put_encoded(&mut self, name: &str, document: &[u8]) -> Result<(), BsonError> {
        self.out.push(tag::DOCUMENT);
        if let Err(error) = put_cstring(name, &mut self.out) {
            self.out.pop();
            return Err(error);
        }
        self.out.extend_from_slice(document);
        Ok(())
    }

    /// Begins a field that is a document.
    ///
    /// # Errors
    /// [`BsonError::Nul`].
    pub fn open_document(&mut self, name: &str) -> Result<(), BsonError> {
        self.open(tag::DOCUMENT, name, None)
    }

    /// Begins a field that is an array, whose elements [`BsonBuilder::push`] adds.
    ///
    /// # Errors
    /// [`BsonError::Nul`].
    pub fn open_array(&mut self, name: &str) -> Result<(), BsonError> {
        self.open(tag::ARRAY, name, Some(0))
    }

    fn open(&mut self, tag: u8, name: &str, elements: Option<usize>) -> Result<(), BsonError> {
        self.out.push(tag);
        if let Err(error) = put_cstring(name, &mut self.out) {
            self.out.pop();
            return Err(error);
        }
        let start = begin(&mut self.out);
        self.open.push(Open { start, elements });
        Ok(())
    }

    /// Adds a stored document to the open array, and returns its size in bytes.
    ///
    /// # Errors
    /// As [`Document::write_bson`]; nothing was added in that case.
    pub fn push(&mut self, document: &Document) -> Result<usize, DocumentError> {
        let before = self.out.len();
        let elements = self.open.last_mut().and_then(|open| open.elements.as_mut());
        let at = elements.as_ref().map_or(0, |count| **count);
        self.out.push(tag::DOCUMENT);
        self.out.extend_from_slice(itoa::Buffer::new().format(at).as_bytes());
        self.out.push(0);
        let start = self.out.len();
        if let Err(error) = document.write_bson(&mut self.out) {
            self.out.truncate(before);
            return Err(error);
        }
        if let Some(count) = elements {
            *count += 1;
        }
        Ok(self.out.len() - start)
    }

    /// The length of the buffer so far, including the bytes before the document.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// True if the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Ends the innermost open document or array.
    ///
    /// # Errors
    /// [`BsonError::TooLarge`].
    pub fn close(&mut self) -> Result<(), BsonError> {
        let Some(Open { start, .. }) = self.open.pop() else { return Ok(()) };
        self.out.push(0);
        finish(start, &mut self.out)
    }

    /// Ends all open documents and arrays, and returns the buffer.
    ///
    /// # Errors
    /// [`BsonError::TooLarge`].
    pub fn finish(mut self) -> Result<Vec<u8>, BsonError> {
        while !self.open.is_empty() {
            self.close()?;
        }
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests;

//! Writes of documents that are given as JSON text.

use super::{Absent, WriteTxn};
use crate::error::{Error, Result};
use crate::ids::MAX_DOCUMENT_BYTES;
use alluvium_document::row::RowError;
use alluvium_document::shape::Shape;
use alluvium_document::speculate::Encoder;
use alluvium_document::{Document, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A shorter text cannot be a document over the size limit: BSON has less than eight bytes for each
/// byte of JSON (`[1,1,…]` is the worst case).
const CHECKED_TEXT_BYTES_MIN: usize = MAX_DOCUMENT_BYTES / 8;

/// A document that was encoded.
struct FromText {
    key: Vec<u8>,
    /// Those of its shapes that are not visible yet.
    shapes: Vec<Arc<Shape>>,
    /// It has the `_id` that was offered, and none of its own.
    takes_id: bool,
}

impl WriteTxn<'_> {
    /// Puts a document with this `_id` to the first collection. False, and nothing is added, if it
    /// has to be parsed: it has an `_id` of its own, is large, or is refused.
    pub(crate) fn put_json(&mut self, encoder: &mut Encoder, text: &str, id: &Value) -> Result<bool> {
        let encoded = self.encode_json(encoder, text, &mut || id.clone());
        let Some(encoded) = encoded.filter(|encoded| encoded.takes_id) else { return Ok(false) };
        self.any_blind = true;
        self.add_encoded(&encoded)?;
        Ok(true)
    }

    /// Inserts a document into the first collection; one without an `_id` gets one from `new_id`.
    /// Returns its `_id`; `None`, and nothing is added, if it has to be parsed.
    pub(crate) fn insert_json(
        &mut self,
        encoder: &mut Encoder,
        text: &str,
        mut new_id: impl FnMut() -> Value,
    ) -> Result<Option<Value>> {
        let mut made = None;
        let encoded = self.encode_json(encoder, text, &mut || made.insert(new_id()).clone());
        let Some(encoded) = encoded else { return Ok(None) };
        let id = match made {
            Some(id) => id,
            None => self.document(&encoded.key)?.id().clone(),
        };
        self.add_encoded(&encoded)?;
        self.absent.push(Absent { group: 0, key: encoded.key, id: Cow::Owned(id.clone()) });
        Ok(Some(id))
    }

    /// Encodes a document as the current row.
    fn encode_json(
        &mut self,
        encoder: &mut Encoder,
        text: &str,
        new_id: &mut dyn FnMut() -> Value,
    ) -> Option<FromText> {
        if text.len() >= CHECKED_TEXT_BYTES_MIN {
            return None;
        }
        self.row.clear();
        let (mut key, mut takes_id) = (Vec::new(), false);
        let mut new_id = || {
            takes_id = true;
            new_id()
        };
        let row = &mut self.row;
        let encoded = encoder.encode_json_line_or_new_id(text.as_bytes(), &mut new_id, row, &mut key).ok()?;
        Some(FromText { key, shapes: encoded.new_shapes, takes_id })
    }

    /// The current row as a document.
    fn document(&self, key: &[u8]) -> Result<Document> {
        let damaged = |error: RowError| Error::InvalidDocument(error.to_string());
        Document::from_row(&self.groups[0].state.shapes, key, self.row.as_slice()).map_err(damaged)
    }

    /// Adds a put of the current row, with its index entries.
    fn add_encoded(&mut self, FromText { key, shapes, .. }: &FromText) -> Result<()> {
        self.groups[0].shapes.extend_from_slice(shapes);
        if self.groups[0].entries.is_empty() {
            return self.add_row(0, key);
        }
        let document = self.document(key)?;
        let keys = self.groups[0].entries.keys_of(key, &document)?;
        self.add_row(0, key)?;
        self.groups[0].entries.put_keys(&mut self.batch, key, &keys);
        Ok(())
    }
}

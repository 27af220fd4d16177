//! Writes of documents that are given as JSON text or as BSON. They are encoded without a tree of values.

use super::WriteTxn;
use crate::error::{Error, Result};
use crate::ids::{CHECKED_TEXT_BYTES_MIN, check_size, id_key};
use alluvium_document::Value;
use alluvium_document::bson_row::{BsonRowEncoder, EncodedBson};
use alluvium_document::shape::Shape;
use alluvium_document::speculate::Encoder;
use std::borrow::Cow;
use std::sync::Arc;

/// A document that was encoded.
struct FromText {
    key: Vec<u8>,
    /// The shapes of the row that are not visible yet.
    shapes: Vec<Arc<Shape>>,
    /// True if the document has no `_id` and gets the offered one.
    takes_id: bool,
}

impl WriteTxn<'_> {
    /// Puts a document with this `_id` into the first collection. Returns false and adds nothing if the document has to
    /// be parsed, because it has another `_id`, is large, or is refused. If the document has an equal `_id`, its own
    /// `_id` is stored.
    pub(crate) fn put_json(&mut self, encoder: &mut Encoder, text: &str, id: &Value) -> Result<bool> {
        let Some(encoded) = self.encode_json(encoder, text, &mut || id.clone()) else { return Ok(false) };
        if !encoded.takes_id && !id_key(id).is_ok_and(|key| key == encoded.key) {
            return Ok(false);
        }
        self.note_blind(0);
        self.add_encoded(&encoded)?;
        Ok(true)
    }

    /// Inserts a document into the first collection. A document without an `_id` gets one from `new_id`. Returns the
    /// `_id`. Returns `None` and adds nothing if the document has to be parsed.
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
            None => self.groups[0].document(&encoded.key, &self.row)?.id().clone(),
        };
        self.add_encoded(&encoded)?;
        self.must_be_absent(0, encoded.key, Cow::Owned(id.clone()));
        Ok(Some(id))
    }

    /// Inserts a document that is given as BSON into the first collection. Returns its `_id`. Returns `None` and adds
    /// nothing if the document has to be decoded.
    pub(crate) fn insert_bson(&mut self, encoder: &mut BsonRowEncoder, bytes: &[u8]) -> Result<Option<Value>> {
        check_size(bytes.len())?;
        self.row.clear();
        // A row is rarely longer than the document.
        self.row.reserve(bytes.len());
        let group = &mut self.groups[0];
        let encoded = encoder
            .encode(bytes, &group.state.shapes, &mut self.row, &mut group.shapes)
            .map_err(|error| Error::InvalidDocument(error.to_string()))?;
        let Some(EncodedBson { id, key }) = encoded else { return Ok(None) };
        group.put_encoded(&mut self.batch, &key, &self.row)?;
        self.drop_large_row();
        self.must_be_absent(0, key, Cow::Owned(id.clone()));
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

    /// Adds a put of the current row, with its index entries.
    fn add_encoded(&mut self, FromText { key, shapes, .. }: &FromText) -> Result<()> {
        self.groups[0].shapes.extend_from_slice(shapes);
        self.groups[0].put_encoded(&mut self.batch, key, &self.row)?;
        self.drop_large_row();
        Ok(())
    }
}

//! The part of a write that changes one collection.

use super::{Group, Named};
use crate::error::{Error, Result, id_text};
use crate::multikey::record_marks;
use crate::write::entries::Entries;
use alluvium_document::Document;
use alluvium_query::validator::{ValidationAction, Validator};
use alluvium_store::{Store, WriteBatch};
use std::cell::OnceCell;

impl<'a> Group<'a> {
    pub(super) fn new(named: &Named<'a>) -> Self {
        let Named { name, state, validates, limits } = named.clone();
        let entries = Entries::new(state.indexes(), name);
        Self {
            name,
            state,
            entries,
            validates,
            limits,
            interrupted: OnceCell::new(),
            shapes: Vec::new(),
            shapes_put: 0,
            id: Vec::new(),
            removed: 0,
            uncertain: 0,
        }
    }

    /// The validator of the documents that are written.
    #[inline]
    pub(super) fn validator(&self) -> Option<&Validator> {
        self.entries.set().validator().filter(|_| self.validates)
    }

    /// Puts the row of a document. Every document that is written is added to its batch here, so checks of all
    /// documents belong here.
    #[inline]
    pub(super) fn put_row(
        &self,
        batch: &mut WriteBatch,
        key: &[u8],
        row: &[u8],
        before: Option<&Document>,
    ) -> Result<()> {
        if self.validator().is_some() {
            self.validate(&self.document(key, row)?, before)?;
        }
        batch.put(self.state.documents, key, row);
        Ok(())
    }

    /// Puts an encoded row, with its index entries. If it returns an error, nothing was added.
    #[inline]
    pub(super) fn put_encoded(&mut self, batch: &mut WriteBatch, key: &[u8], row: &[u8]) -> Result<()> {
        if self.entries.is_empty() {
            return self.put_row(batch, key, row, None);
        }
        let mut id = std::mem::take(&mut self.id);
        let keys = Document::view(&self.state.shapes, key, row, &mut id)
            .map_err(|error| Error::InvalidDocument(error.to_string()))
            .and_then(|document| self.entries.keys_of(key, document));
        self.id = id;
        let keys = keys?;
        self.put_row(batch, key, row, None)?;
        self.entries.put_keys(batch, key, &keys);
        Ok(())
    }

    /// An error if the collection's validator refuses a document that replaces `before`.
    #[cold]
    pub(super) fn validate(&self, document: &Document, before: Option<&Document>) -> Result<()> {
        let Some(validator) = self.validator() else { return Ok(()) };
        let validator = match self.limits.interrupt {
            Some(interrupt) if validator.may_take_long(document) => {
                self.interrupted.get_or_init(|| validator.interrupted_by(interrupt))
            }
            _ => validator,
        };
        let Some(details) = validator.refusal(document, before)? else { return Ok(()) };
        let (collection, id) = (self.name.to_string(), id_text(document.id()));
        let refused = Error::Validation { collection, id, details: Box::new(details) };
        match validator.action() {
            ValidationAction::Error => Err(refused),
            ValidationAction::ErrorAndLog => {
                log::warn!("{refused}");
                Err(refused)
            }
            ValidationAction::Warn => {
                log::warn!("{refused}");
                Ok(())
            }
        }
    }

    /// An encoded row as a document.
    pub(super) fn document(&self, key: &[u8], row: &[u8]) -> Result<Document> {
        Document::from_row(&self.state.shapes, key, row).map_err(|error| Error::InvalidDocument(error.to_string()))
    }

    pub(super) fn record_marks(&mut self, store: &Store) -> Result<()> {
        match self.entries.take_marks() {
            parts if parts.is_empty() => Ok(()),
            parts => record_marks(store, &self.state, &parts),
        }
    }

    /// Called when the batch is visible. Later batches need not include the definitions of its shapes.
    pub(super) fn mark_shapes(&self) {
        for shape in &self.shapes {
            self.state.shapes.mark_committed(shape.number());
        }
    }
}

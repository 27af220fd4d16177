//! The items that steps pass to each other.

use crate::key::Key;
use alluvium_document::Document;

/// The most items in a batch.
pub const BATCH_MAX: usize = 64;

/// A batch of documents ends early once their rows have this many bytes.
pub const BATCH_BYTES: usize = 1 << 20;

/// A document that steps pass to each other, or the values of a document that the query needs.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// The key of the document's `_id`, which identifies the document. Empty after a sort that keeps only the needed
    /// fields: the key is then made from the document ([`crate::Execution::key_of`]).
    pub key: Key,
    /// The whole document, or a document with only the needed values. `None` if the query needs no
    /// values.
    pub document: Option<Document>,
    /// The fields that `document` has.
    pub fields: Fields,
}

/// The fields that the document of an item has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fields {
    /// All fields.
    Whole,
    /// The values that the query needs, and maybe others.
    #[default]
    Some,
    /// Exactly the top-level fields that the query needs, in the order of the whole document.
    Needed,
}

impl Item {
    /// An item with the whole document.
    pub fn whole(key: &[u8], document: Document) -> Self {
        Self { key: key.into(), document: Some(document), fields: Fields::Whole }
    }

    /// An item whose document is not read yet ([`crate::Source::read_documents`]).
    pub fn unread(key: impl Into<Key>) -> Self {
        Self { key: key.into(), document: None, fields: Fields::Some }
    }

    /// True if the document is whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.fields == Fields::Whole
    }

    /// The bytes of the document's row; 0 without a document.
    pub(crate) fn row_len(&self) -> usize {
        self.document.as_ref().map_or(0, Document::row_len)
    }
}

/// The number of documents that a caller requests from a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// The most documents to append; at least 1. The caller uses all of them.
    pub most: usize,
    /// True if the caller reads to the end, so that a step may read ahead of the documents that it
    /// appends.
    pub open_ended: bool,
}

impl Demand {
    /// The demand of a caller that reads to the end.
    pub const ALL: Self = Self { most: BATCH_MAX, open_ended: true };
}

//! Results of writes.

use alluvium_document::{Document, Map, Value};
use std::fmt;
use std::sync::Arc;

/// The counts of an update, as MongoDB's drivers report them.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct UpdateResult {
    /// The count of documents that matched.
    pub matched_count: u64,
    /// The count of documents that changed.
    pub modified_count: u64,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Value>,
}

/// The result of a write of one document.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// True if a document matched.
    pub matched: bool,
    /// True if the document changed.
    pub changed: bool,
    /// The document before or after the write, as requested, with the fields that were requested.
    pub document: Option<Document>,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Value>,
}

impl From<Written> for UpdateResult {
    fn from(written: Written) -> Self {
        Self {
            matched_count: u64::from(written.matched),
            modified_count: u64::from(written.matched && written.changed),
            upserted_id: written.upserted_id,
        }
    }
}

/// A document that is made from the result of a write, and stored in another collection by the batch of the write. With
/// the record, a program that does not know whether its write happened can find out, even after a crash. A write that
/// changes nothing stores no record.
#[derive(Clone)]
pub struct WriteRecord {
    /// The full name of the collection.
    pub collection: String,
    /// The `_id` of the record. An existing document is replaced.
    pub id: Value,
    /// Makes the other fields of the record. It is called again if the write starts over.
    pub fields: Arc<dyn Fn(&Written) -> Map + Send + Sync>,
}

impl fmt::Debug for WriteRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteRecord")
            .field("collection", &self.collection)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The version of the document that `get_and_update` and `find_one_and_update` return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnDocument {
    /// The document before the update. The default.
    #[default]
    Before,
    /// The document after the update.
    After,
}

/// The result of a write of one document that returns it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FindOneAndModifyResult<T> {
    /// The document before or after the write, as requested.
    pub document: Option<T>,
    /// True if a document matched. False if no document matched, even if a document was inserted.
    pub matched: bool,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Value>,
    /// True if something was written: a document was changed, deleted or inserted.
    pub changed: bool,
}

impl<T> FindOneAndModifyResult<T> {
    /// A result with these values.
    pub fn new(document: Option<T>, matched: bool, upserted_id: Option<Value>) -> Self {
        let changed = upserted_id.is_some();
        Self { document, matched, upserted_id, changed }
    }

    /// Sets whether something was written.
    pub fn with_changed(self, changed: bool) -> Self {
        Self { changed, ..self }
    }
}

/// The result of a delete by filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeleteResult {
    /// The count of deleted documents.
    pub deleted_count: u64,
}

impl DeleteResult {
    /// The result of a delete of `deleted_count` documents.
    pub fn new(deleted_count: u64) -> Self {
        Self { deleted_count }
    }
}

/// The result of a bulk write.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct BulkWriteResult {
    /// The count of inserted documents, without upserts.
    pub inserted_count: u64,
    /// The count of documents that matched updates.
    pub matched_count: u64,
    /// The count of documents that updates changed.
    pub modified_count: u64,
    /// The count of deleted documents.
    pub deleted_count: u64,
    /// The positions of inserts among the writes, with the `_id`s of their documents.
    pub inserted_ids: Vec<(usize, Value)>,
    /// The positions of upserts that inserted, with the `_id`s of their documents.
    pub upserted_ids: Vec<(usize, Value)>,
}

/// The version of a document. Each write of the document gives it a new version. A version is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub(crate) alluvium_store::Seq);

/// How a transaction has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was committed.
    Committed,
    /// It was aborted: on request, or by an error.
    Aborted,
    /// Its commit failed, and it is unknown whether it was written.
    Unknown,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Committed => "committed",
            Self::Aborted => "aborted",
            Self::Unknown => "ended with an unknown outcome",
        })
    }
}

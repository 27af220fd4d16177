//! Results of writes.

use alluvium_document::Value;

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

/// Which document `get_and_update` and `find_one_and_update` return.
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
    /// True if a document matched; false if none did, also if one was inserted.
    pub matched: bool,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Value>,
}

impl<T> FindOneAndModifyResult<T> {
    /// A result with these values.
    pub fn new(document: Option<T>, matched: bool, upserted_id: Option<Value>) -> Self {
        Self { document, matched, upserted_id }
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
    /// The count of inserted documents, upserts not included.
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

/// The version of a document. Each write of the document gives it a new version, never one that it
/// had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub(crate) alluvium_store::Seq);

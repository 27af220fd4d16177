//! What writes report.

use alluvium_document::Value;

/// The counts of an update, as MongoDB's drivers report them.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct UpdateResult {
    /// Documents found.
    pub matched_count: u64,
    /// Documents that changed.
    pub modified_count: u64,
    /// The `_id` of the document that an upsert inserted.
    pub upserted_id: Option<Value>,
}

/// Which document `get_and_update` and `find_one_and_update` return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnDocument {
    /// As it was before. The default.
    #[default]
    Before,
    /// As it is afterwards.
    After,
}

/// What a delete by filter did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeleteResult {
    /// Documents deleted.
    pub deleted_count: u64,
}

impl DeleteResult {
    /// The result of a delete of `deleted_count` documents.
    pub fn new(deleted_count: u64) -> Self {
        Self { deleted_count }
    }
}

/// What a bulk write did.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct BulkWriteResult {
    /// Documents inserted, without those of upserts.
    pub inserted_count: u64,
    /// Documents that updates found.
    pub matched_count: u64,
    /// Documents that updates changed.
    pub modified_count: u64,
    /// Documents deleted.
    pub deleted_count: u64,
    /// The places of inserts among the writes, and the `_id`s of their documents.
    pub inserted_ids: Vec<(usize, Value)>,
    /// The places of upserts that inserted, and the `_id`s of their documents.
    pub upserted_ids: Vec<(usize, Value)>,
}

/// The version of a document: another one after each write of it, and never the same again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub(crate) alluvium_store::Seq);

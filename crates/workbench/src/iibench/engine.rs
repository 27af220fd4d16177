//! The interface of a database for iibench, so that one harness can measure several databases.

use super::failure::Failure;
use super::row::Row;
use serde::{Deserialize, Serialize};

/// A database with an initially empty table of rows and its secondary indexes.
pub trait Engine: Sync {
    /// A session of one thread, for inserts and queries.
    ///
    /// # Errors
    /// Errors of the engine.
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure>;

    /// Writes everything in memory to files, and waits until no background work is pending.
    ///
    /// # Errors
    /// Errors of the engine.
    fn settle(&self) -> Result<(), Failure>;

    /// Merges the files of each tree into as few sorted runs as the engine can, and waits for it.
    ///
    /// # Errors
    /// Errors of the engine.
    fn merge(&self) -> Result<(), Failure>;

    /// Bytes on disk. The engine must be settled.
    ///
    /// # Errors
    /// Errors of the engine.
    fn sizes(&self) -> Result<Sizes, Failure>;

    /// Closes the engine.
    ///
    /// # Errors
    /// Errors of the engine.
    fn close(self: Box<Self>) -> Result<(), Failure>;
}

/// One thread's connection to an engine.
pub trait Session {
    /// Encodes rows for [`Session::insert`]. This is work of the harness, and is measured
    /// separately.
    fn prepare(&mut self, rows: &[Row]);

    /// Inserts the prepared rows and their index entries in one transaction.
    ///
    /// # Errors
    /// Errors of the engine.
    fn insert(&mut self) -> Result<(), Failure>;

    /// Writes rows again that were inserted, with another value of a field that no index has, in
    /// one transaction. Their index entries stay.
    ///
    /// # Errors
    /// Errors of the engine.
    fn rewrite(&mut self, rows: &[Row]) -> Result<(), Failure>;

    /// Reads `limit` entries of an index, beginning with the entry of `from`. Index 0 stands for
    /// the rows by `_id`; 1 and above are the secondary indexes. With `fetch`, also gets the row of
    /// each entry. Returns the number of entries; `None` if the engine has no such index.
    ///
    /// # Errors
    /// Errors of the engine.
    fn query(&mut self, index: usize, from: &Row, limit: usize, fetch: bool) -> Result<Option<usize>, Failure>;
}

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The bytes of the rows.
    pub rows: u64,
    /// The bytes of each secondary index.
    pub indexes: Vec<u64>,
}

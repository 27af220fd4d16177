//! The operations that iibench needs of a database, so that one harness measures several.

use super::failure::Failure;
use super::row::Row;
use serde::{Deserialize, Serialize};

/// A database with a table of rows and its secondary indexes, empty at first.
pub trait Engine: Sync {
    /// A session of one thread, for inserts and queries.
    ///
    /// # Errors
    /// Those of the engine.
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure>;

    /// Writes all that is in memory, and waits until no background work is due.
    ///
    /// # Errors
    /// Those of the engine.
    fn settle(&self) -> Result<(), Failure>;

    /// Bytes on disk, of a settled engine.
    ///
    /// # Errors
    /// Those of the engine.
    fn sizes(&self) -> Result<Sizes, Failure>;

    /// Closes it.
    ///
    /// # Errors
    /// Those of the engine.
    fn close(self: Box<Self>) -> Result<(), Failure>;
}

/// One thread's connection to an engine.
pub trait Session {
    /// Encodes rows for [`Session::insert`]. This is work of the harness, and is timed apart.
    fn prepare(&mut self, rows: &[Row]);

    /// Inserts the prepared rows and their index entries in one transaction.
    ///
    /// # Errors
    /// Those of the engine.
    fn insert(&mut self) -> Result<(), Failure>;

    /// Walks an index (0: the rows by `_id`; from 1 on: the secondary ones) from the entry of `from` on, over `limit`
    /// entries; with `fetch`, gets the row of each. Returns the number of entries; `None` if the engine has no such index.
    ///
    /// # Errors
    /// Those of the engine.
    fn query(&mut self, index: usize, from: &Row, limit: usize, fetch: bool) -> Result<Option<usize>, Failure>;
}

/// Bytes on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Of the rows.
    pub rows: u64,
    /// Of each secondary index.
    pub indexes: Vec<u64>,
}

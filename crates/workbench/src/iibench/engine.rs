//! What iibench asks of a database, so that several can be measured by one harness.

use super::failure::Failure;
use super::row::Row;
use serde::{Deserialize, Serialize};

/// A database with a table of rows and its secondary indexes, empty when it is handed over.
pub trait Engine: Sync {
    /// What one thread needs to insert and to ask.
    ///
    /// # Errors
    /// What the engine says.
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure>;

    /// Writes all that is in memory, and waits until no background work is due.
    ///
    /// # Errors
    /// What the engine says.
    fn settle(&self) -> Result<(), Failure>;

    /// Bytes on disk, of a settled engine.
    ///
    /// # Errors
    /// What the engine says.
    fn sizes(&self) -> Result<Sizes, Failure>;

    /// Closes it.
    ///
    /// # Errors
    /// What the engine says.
    fn close(self: Box<Self>) -> Result<(), Failure>;
}

/// One thread's way to an engine.
pub trait Session {
    /// Makes of rows what [`Session::insert`] hands over. The harness's own work: it is timed apart.
    fn prepare(&mut self, rows: &[Row]);

    /// Inserts what was prepared, with its index entries, as one transaction.
    ///
    /// # Errors
    /// What the engine says.
    fn insert(&mut self) -> Result<(), Failure>;

    /// Walks an index (0: the rows by `_id`; from 1 on: the secondary ones) from the entry of `from` on, over `limit`
    /// entries; with `fetch`, gets the row of each. How many entries there were; `None` if the engine has no such index.
    ///
    /// # Errors
    /// What the engine says.
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

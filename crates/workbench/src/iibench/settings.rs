//! The parameters of a run.

use super::row::MAX_INDEXES;
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Rows to insert.
    pub rows: u64,
    /// Threads that insert.
    pub loaders: usize,
    /// Rows in a transaction.
    pub batch: u64,
    /// Secondary indexes, at most [`MAX_INDEXES`].
    pub indexes: usize,
    /// Letters of padding in a row.
    pub padding: usize,
    /// Rows between two lines of figures.
    pub interval: u64,
    /// Queries over each index at the end.
    pub queries: u64,
    /// Percent of the rows that are written again at random after the queries, which then run twice
    /// more: once the engine is settled, and once it is merged. 0 for neither.
    #[serde(default)]
    pub rewrite: u64,
    /// No batch begins after this time; 0 is no limit.
    pub limit_seconds: f64,
    /// The seed of the rows.
    pub seed: u64,
    /// The engine's memory budget in bytes.
    pub memory_bytes: u64,
    /// Only for Alluvium's documents: the memtable of a partition is sealed at this number of bytes
    /// of keys and values, independent of the budget.
    pub memtable_bytes: Option<u64>,
    /// Only for Alluvium: the number of partitions of the new database; `None` for the default
    /// number.
    #[serde(default)]
    pub partitions: Option<u32>,
    /// True if the engine bypasses the system's page cache.
    pub direct: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rows: 1_000_000,
            loaders: 2,
            batch: 1_000,
            indexes: MAX_INDEXES,
            padding: 10,
            interval: 200_000,
            queries: 1_000,
            rewrite: 0,
            limit_seconds: 0.0,
            seed: 1,
            memory_bytes: 256 << 20,
            memtable_bytes: None,
            partitions: None,
            direct: false,
        }
    }
}

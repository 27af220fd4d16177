//! The parameters of the documents scenario.

use std::time::Duration;

/// The parameters.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Documents to put.
    pub documents: u64,
    /// True if the `_id`s are in no order; otherwise they ascend.
    pub random_ids: bool,
    /// No batch of puts begins after this time.
    pub put_limit: Option<Duration>,
    /// The number of threads.
    pub threads: usize,
    /// How long documents are read, and how long they are updated, in whole seconds; at least one.
    pub duration: Duration,
    /// The number of reads, updates or transactions after which a phase ends early; 0 is no limit.
    pub operations: u64,
    /// The store's memory in bytes.
    pub memory_bytes: u64,
    /// The store's memory during cold gets, in bytes.
    pub cold_memory_bytes: u64,
    /// The number of cold gets, which end early after the duration.
    pub cold_gets: u64,
    /// The seed of the documents and the random choices.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            documents: 1_000_000,
            random_ids: false,
            put_limit: None,
            threads: 1,
            duration: Duration::from_secs(10),
            operations: 0,
            memory_bytes: 256 << 20,
            cold_memory_bytes: 16 << 20,
            cold_gets: 10_000,
            seed: 1,
        }
    }
}

//! Work on a whole database that can be stopped.

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_collections::verify::VerifyReport;
use alluvium_collections::{open, verify};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A compaction of the whole database: made by [`crate::Database::compact`].
#[derive(Clone)]
#[must_use = "nothing is compacted until `run`"]
pub struct Compact {
    engine: EngineHandle,
    stop: Arc<AtomicBool>,
}

impl Compact {
    pub(crate) fn new(engine: EngineHandle) -> Self {
        Self { engine, stop: Arc::default() }
    }

    /// Ends the compaction with [`crate::Error::Stopped`] when `stop` is set to true, within one block. Finished partitions
    /// stay merged; the files of an unfinished one are removed.
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Merges each partition into one sorted run.
    ///
    /// # Errors
    /// As [`crate::Database::flush`]; [`crate::Error::Stopped`].
    pub fn run(self) -> Result<()> {
        open::compact(&self.engine, &self.stop)
    }
}

/// A check of the whole database: made by [`crate::Database::verify`].
#[derive(Clone)]
#[must_use = "nothing is verified until `run`"]
pub struct Verify {
    engine: EngineHandle,
    stop: Arc<AtomicBool>,
}

impl Verify {
    pub(crate) fn new(engine: EngineHandle) -> Self {
        Self { engine, stop: Arc::default() }
    }

    /// Ends the check with [`crate::Error::Stopped`] when `stop` is set to true.
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Reads everything, and returns the damage and a row for each index.
    ///
    /// # Errors
    /// What keeps files from being read; [`crate::Error::Stopped`]. Damage is in the report, and no error.
    pub fn run(self) -> Result<VerifyReport> {
        verify::verify(&self.engine, &self.stop)
    }
}

//! One partition of a store (skeleton).

#![deny(missing_docs)]

mod budget;
mod cache;
mod options;
mod partition;
mod stats;

pub use budget::{Budget, Charge, Owner};
pub use cache::Cache;
pub use options::{Options, Policy, Shared};
pub use partition::Partition;
pub use stats::{Debt, FileInfo, Stats, Verified};

use codec::entry::Seq;

/// A running or picked compaction.
pub struct CompactionJob {}

/// How a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It was told to stop, and changed nothing.
    Yielded,
}

/// Memtables and version of one moment.
pub struct View {}

#[allow(unused_variables)]
impl View {
    /// Reads a key. False if it is absent at `seq`.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`] or [`env::Error::Io`].
    pub fn get(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> env::Result<bool> {
        Ok(false)
    }
}

/// Iterates over visible puts.
pub struct PartitionIter {}

#[allow(unused_variables, clippy::should_implement_trait)]
impl PartitionIter {
    /// Moves to the first key.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`] or [`env::Error::Io`].
    pub fn seek_first(&mut self) -> env::Result<()> {
        Ok(())
    }
    /// Moves to the last key.
    ///
    /// # Errors
    /// As `seek_first`.
    pub fn seek_last(&mut self) -> env::Result<()> {
        Ok(())
    }
    /// Moves to the first key at or above `key`.
    ///
    /// # Errors
    /// As `seek_first`.
    pub fn seek(&mut self, key: &[u8]) -> env::Result<()> {
        Ok(())
    }
    /// Moves to the last key below `key`.
    ///
    /// # Errors
    /// As `seek_first`.
    pub fn seek_before(&mut self, key: &[u8]) -> env::Result<()> {
        Ok(())
    }
    /// Moves forward.
    ///
    /// # Errors
    /// As `seek_first`.
    pub fn next(&mut self) -> env::Result<()> {
        Ok(())
    }
    /// Moves back.
    ///
    /// # Errors
    /// As `seek_first`.
    pub fn prev(&mut self) -> env::Result<()> {
        Ok(())
    }
    /// True while on a key.
    pub fn valid(&self) -> bool {
        false
    }
    /// The key.
    pub fn key(&self) -> &[u8] {
        &[]
    }
    /// The value.
    pub fn value(&self) -> &[u8] {
        &[]
    }
    /// The number of the version.
    pub fn seq(&self) -> Seq {
        0
    }
}

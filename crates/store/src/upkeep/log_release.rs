//! Removes the segments of the log that are no longer needed.

use crate::batch::encode_flushed;
use crate::commit::{Commit, Work};
use crate::error::Result;
use crate::holds::Holds;
use crate::marks;
use crate::options::Durability;
use crate::partitions::Partitions;
use crate::visibility::Visibility;
use alluvium_codec::entry::Seq;
use alluvium_wal::Wal;
use std::sync::Arc;

/// Removes segments of the log.
pub(crate) struct LogRelease {
    wal: Arc<Wal>,
    holds: Arc<Holds>,
    partitions: Partitions,
    visibility: Arc<Visibility>,
    commit: Arc<Commit>,
}

impl LogRelease {
    pub fn new(commit: Arc<Commit>) -> Self {
        Self {
            wal: commit.wal.clone(),
            holds: commit.holds.clone(),
            partitions: commit.partitions.clone(),
            visibility: commit.visibility.clone(),
            commit,
        }
    }

    /// Removes the segments that no partition needs. First writes a note to the remaining log: the number up to which
    /// *every* partition is flushed, and the removed segments. A manifest may later lose such a flush, whose data may
    /// have been in a removed segment; the note shows this. The note also shows if a segment is missing that was not
    /// removed.
    pub fn release(&self) -> Result<()> {
        let Some(_removing) = self.holds.removing() else {
            marks::LOG_HELD.hit();
            return Ok(());
        };
        let oldest_needed = self.oldest_needed();
        if self.wal.can_release_below(oldest_needed) && !self.holds.is_damaged() {
            self.note_flushed(oldest_needed)?;
            self.wal.release_below(oldest_needed)?;
        }
        Ok(())
    }

    /// Removes the unneeded segments, including the one that is being written.
    pub fn release_all(&self) -> Result<()> {
        if self.is_all_flushed() {
            // A new segment with the notes makes all earlier segments unnecessary.
            self.wal.start_segment()?;
        }
        self.release()
    }

    /// Writes a note of the numbers up to which partitions are flushed. Numbers below `needed` are removed from the
    /// log.
    pub fn note_flushed(&self, needed: Seq) -> Result<()> {
        let flushed = self.partitions.iter().enumerate().map(|(at, p)| (at as u32, p.flushed_seq()));
        self.commit.commit(Work::Note(encode_flushed(needed, flushed)), Durability::Sync)?;
        Ok(())
    }

    /// True if all visible operations are in sorted files.
    pub fn is_all_flushed(&self) -> bool {
        self.oldest_needed() > self.visibility.visible()
    }

    /// The lowest number that may not be in sorted files yet.
    fn oldest_needed(&self) -> Seq {
        // The visible number is read first. An operation above it may still be on the way into a memtable that looks
        // empty. An operation at or below it is in a memtable or flushed.
        let visible = self.visibility.visible();
        let pins = self.partitions.iter().filter_map(|p| p.view().oldest_unflushed());
        pins.min().unwrap_or(Seq::MAX).min(visible + 1)
    }
}

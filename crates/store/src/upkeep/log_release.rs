//! Removing the segments of the log that nothing needs.

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

    /// Removes the segments that no partition needs, after noting in the remaining log the number
    /// up to which *every* partition is flushed, and the removed segments: a manifest that later
    /// loses such a flush, whose data may have been in a removed segment, is found by the note, and
    /// so is a segment that is missing without having been removed.
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

    /// Removes the segments that nothing needs, including the one that is being written.
    pub fn release_all(&self) -> Result<()> {
        if self.is_all_flushed() {
            // A new segment, with the notes, makes all earlier ones unnecessary.
            self.wal.start_segment()?;
        }
        self.release()
    }

    /// Writes a note of the numbers up to which partitions are flushed; numbers below `needed` are
    /// removed from the log.
    pub fn note_flushed(&self, needed: Seq) -> Result<()> {
        let flushed = self.partitions.iter().enumerate().map(|(at, p)| (at as u32, p.flushed_seq()));
        self.commit.commit(Work::Note(encode_flushed(needed, flushed)), Durability::Sync)?;
        Ok(())
    }

    /// True if everything visible is in sorted files.
    pub fn is_all_flushed(&self) -> bool {
        self.oldest_needed() > self.visibility.visible()
    }

    /// The lowest number that may not be in sorted files yet.
    fn oldest_needed(&self) -> Seq {
        // First the visible number: what is above it may be on its way into a memtable that
        // still looks empty. What is at or below it is in a memtable or flushed.
        let visible = self.visibility.visible();
        let pins = self.partitions.iter().filter_map(|p| p.view().oldest_unflushed());
        pins.min().unwrap_or(Seq::MAX).min(visible + 1)
    }
}

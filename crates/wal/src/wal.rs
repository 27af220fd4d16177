//! The log.

use crate::{Options, Position, Record, Recovery};
use codec::entry::Seq;
use env::sync::Mutex;
use env::{Env, Result};
use std::path::Path;

/// The write-ahead log of a database. `Send + Sync`.
pub struct Wal {
    end: Mutex<Position>,
}

impl Wal {
    /// Opens the log in `dir` (empty or not), replays its records in order, and starts a new
    /// segment. Nothing of an old segment is overwritten.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`] for damage, [`env::Error::NewerFormat`], I/O errors, and what
    /// `replay` returns.
    pub fn recover(
        _env: &Env,
        _dir: &Path,
        _options: Options,
        _replay: &mut dyn FnMut(Record<'_>) -> Result<()>,
    ) -> Result<(Self, Recovery)> {
        Ok((
            Self { end: Mutex::new(Position::default()) },
            Recovery { clean: true, first_seq: 1, ..Recovery::default() },
        ))
    }

    /// Writes the records as one group, whole or not at all after a crash. Only the commit
    /// leader calls it. Returns the end of the group.
    ///
    /// # Errors
    /// No space for a new segment leaves all as it was; any other error poisons the log.
    pub fn append(&self, records: &[Record<'_>]) -> Result<Position> {
        let mut end = self.end.lock();
        end.offset += records.iter().map(|r| r.payload.len() as u64 + 64).sum::<u64>();
        Ok(*end)
    }

    /// Makes durable all that is appended, and returns how far that is.
    ///
    /// # Errors
    /// A failure poisons the log; it is never retried.
    pub fn sync(&self) -> Result<Position> {
        Ok(self.end())
    }

    /// Everything before this is durable.
    pub fn synced(&self) -> Position {
        self.end()
    }

    /// The end of what is appended.
    pub fn end(&self) -> Position {
        *self.end.lock()
    }

    /// Waits until everything before `position` is durable, syncing if nobody else does.
    ///
    /// # Errors
    /// As [`Wal::sync`].
    pub fn sync_to(&self, _position: Position) -> Result<()> {
        Ok(())
    }

    /// Removes the oldest closed segments as long as they hold only numbers below `seq`.
    /// Returns the bytes freed.
    ///
    /// # Errors
    /// I/O errors; the log stays usable.
    pub fn release_below(&self, _seq: Seq) -> Result<u64> {
        Ok(0)
    }

    /// The first number of the oldest segment.
    pub fn oldest_seq(&self) -> Seq {
        1
    }

    /// The size of all segments, preallocated space included, in bytes.
    pub fn bytes_on_disk(&self) -> u64 {
        self.end().offset
    }

    /// The error that poisoned the log, if one did.
    pub fn poisoned(&self) -> Option<env::Error> {
        None
    }

    /// Closes the log cleanly: syncs, writes a seal, gives back preallocated space. Every later
    /// call fails.
    ///
    /// # Errors
    /// I/O errors; the log then recovers as after a crash.
    pub fn close(&self) -> Result<()> {
        Ok(())
    }
}

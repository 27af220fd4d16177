//! A copy of a part of the log, as the log of another database. The numbers stay the same.

use crate::batch::{TAG_FLUSHED, encode_flushed};
use alluvium_codec::entry::Seq;
use alluvium_env::{Env, OpenMode, Result};
use alluvium_wal::{Record, Wal};
use std::path::{Path, PathBuf};

/// Records are written in groups of about this many bytes.
const GROUP_BYTES: usize = 1 << 20;

/// A record of a group: its numbers, and the end of the record in the bytes of the group.
#[derive(Clone, Copy)]
struct Gathered {
    first_seq: Seq,
    last_seq: Seq,
    end: usize,
}

/// A log that is written from the records of another log.
pub(crate) struct LogCopy<'a> {
    env: &'a Env,
    dir: PathBuf,
    options: alluvium_wal::Options,
    log: Option<Wal>,
    /// The records of the group that is being gathered in `bytes`.
    group: Vec<Gathered>,
    bytes: Vec<u8>,
    /// The number of the note that is kept. The other notes are about flushes that the copy does not have.
    note: Option<Seq>,
}

impl<'a> LogCopy<'a> {
    /// Creates a log in `dir`, an empty directory. Of the notes in the records, only the note with the number `note` is
    /// kept; `None` keeps all notes.
    pub fn new(env: &'a Env, dir: &Path, database_id: u64, segment_bytes: u64, note: Option<Seq>) -> Self {
        let options =
            alluvium_wal::Options { segment_bytes, must_exist: false, ..alluvium_wal::Options::new(database_id) };
        let (dir, bytes) = (dir.to_owned(), Vec::new());
        Self { env, dir, options, log: None, group: Vec::new(), bytes, note }
    }

    /// Appends the next record.
    pub fn take(&mut self, record: Record<'_>) -> Result<()> {
        let foreign = self.note.is_some_and(|note| note != record.first_seq);
        if record.payload.first() == Some(&TAG_FLUSHED) && foreign {
            self.bytes.extend(encode_flushed(0, std::iter::empty()));
        } else {
            self.bytes.extend_from_slice(record.payload);
        }
        let Record { first_seq, last_seq, .. } = record;
        self.group.push(Gathered { first_seq, last_seq, end: self.bytes.len() });
        if self.bytes.len() >= GROUP_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let Some(first) = self.group.first().map(|record| record.first_seq) else { return Ok(()) };
        let log = match &self.log {
            Some(log) => log,
            None => self.log.insert(Wal::begin(self.env, &self.dir, self.options.clone(), first)?),
        };
        let mut start = 0;
        let mut records = Vec::with_capacity(self.group.len());
        for &Gathered { first_seq, last_seq, end } in &self.group {
            records.push(Record::new(first_seq, last_seq, &self.bytes[start..end]));
            start = end;
        }
        log.append(&records)?;
        self.group.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Writes the last group, and closes the log cleanly and durably.
    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        if let Some(log) = self.log {
            log.close()?;
        }
        // A log truncates its closed segments and does not sync their lengths, because an open does not need them. The
        // listing names the lengths of these segments, so they are synced.
        for entry in self.env.fs.list(&self.dir)?.iter().filter(|entry| !entry.is_dir) {
            self.env.fs.open(&self.dir.join(&entry.name), OpenMode::ReadWrite)?.sync()?;
        }
        self.env.fs.sync_dir(&self.dir)
    }
}

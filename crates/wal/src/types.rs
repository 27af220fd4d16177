//! The options and records of the log, and the report of a recovery.

use alluvium_codec::entry::Seq;
use std::path::PathBuf;

/// The treatment of a damaged group that was once durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// Refuse with [`alluvium_env::Error::Corrupt`], naming file and offset.
    #[default]
    Refuse,
    /// Continue with the next complete group, and report the lost numbers in [`Recovery::lost`].
    Skip,
}

/// The options with which a log is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The size of a segment, in bytes. A group that does not fit gets a larger segment.
    pub segment_bytes: u64,
    /// The database that the log belongs to; segments of another database are refused.
    pub database_id: u64,
    /// The treatment of damage.
    pub on_damage: OnDamage,
    /// New records get numbers from this one upwards, or from the number after the last one found,
    /// whichever is higher. 0 and 1 have no effect.
    pub next_seq: Seq,
    /// True if the log must exist: a directory without a complete segment is then damage. If false,
    /// such a directory gets a new log.
    pub must_exist: bool,
    /// The bytes of the disk that a new segment leaves free (see [`Purpose`]); 0 for no reserve.
    pub reserve_bytes: u64,
}

impl Options {
    /// Segments of 64 MiB, no reserve; damage is refused, and a log that does not exist is created.
    pub fn new(database_id: u64) -> Self {
        let on_damage = OnDamage::Refuse;
        let (segment_bytes, next_seq) = (64 << 20, 1);
        Self { segment_bytes, database_id, on_damage, next_seq, must_exist: false, reserve_bytes: 0 }
    }
}

/// The purpose of a group, which decides how many bytes of the disk a new segment must leave free.
/// The purposes are in ascending order of these bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Records that allow segments to be removed: they may use the whole reserve.
    Upkeep,
    /// Deletes. They free space later, so they may use half of the reserve.
    Removal,
    /// All other writes: they must leave the whole reserve free.
    Growth,
}

/// One write batch: the numbers of its operations, and bytes that the log does not interpret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The number of its first operation.
    pub first_seq: Seq,
    /// The number of its last operation; not below the first.
    pub last_seq: Seq,
    /// The encoded operations.
    pub payload: &'a [u8],
    /// The compressed form of the payload, by [`crate::Compressor::compress`]: the log writes it in place of the
    /// payload. Records that are read have `None`.
    pub compressed: Option<&'a [u8]>,
}

impl<'a> Record<'a> {
    /// A record that is written as it is.
    pub fn new(first_seq: Seq, last_seq: Seq, payload: &'a [u8]) -> Self {
        Self { first_seq, last_seq, payload, compressed: None }
    }
}

/// A position in the log. Positions are ordered as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// The number of the segment.
    pub segment: u64,
    /// The offset in it, in bytes.
    pub offset: u64,
}

/// An incomplete tail that recovery cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The segment.
    pub path: PathBuf,
    /// The offset of the tail, in bytes.
    pub offset: u64,
    /// The length of the tail up to its last byte that is not zero.
    pub bytes: u64,
}

/// Numbers that [`OnDamage::Skip`] could not recover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The first lost number.
    pub first: Seq,
    /// The last lost number.
    pub last: Seq,
}

/// The report of a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The first number that the log holds: records from `first_seq` to `last_seq` were replayed.
    /// If the log is empty, `last_seq + 1`.
    pub first_seq: Seq,
    /// The last number that was written before the oldest segment and was released; 0 if there was
    /// none.
    pub released: Seq,
    /// The last number found, or the number before the first one; new records continue after it.
    pub last_seq: Seq,
    /// The tail that was cut off, if there was one.
    pub dropped: Option<Dropped>,
    /// True if damage was skipped and an unknown number of records after it is lost, because the
    /// newest segment is missing or was truncated.
    pub end_missing: bool,
    /// True if the log was closed cleanly, or is new.
    pub clean: bool,
    /// The records replayed.
    pub records: u64,
    /// The bytes of their payloads, before compression.
    pub bytes: u64,
    /// True if damage was skipped; only with [`OnDamage::Skip`].
    pub damaged: bool,
    /// Numbers lost to damage, ascending.
    pub lost: Vec<Lost>,
    /// Numbers that a segment skipped when it was created, because of [`Options::next_seq`].
    pub passed_over: Vec<Lost>,
}

impl Recovery {
    /// The number with which the log continues, unless [`Options::next_seq`] is higher. If an
    /// unknown number of records is missing, one number is skipped, so that the next recovery
    /// reports the gap.
    ///
    /// ```
    /// let whole = alluvium_wal::Recovery { last_seq: 7, ..alluvium_wal::Recovery::default() };
    /// assert_eq!(whole.next_seq(), 8);
    /// let cut = alluvium_wal::Recovery { end_missing: true, ..whole };
    /// assert_eq!(cut.next_seq(), 9);
    /// ```
    pub fn next_seq(&self) -> Seq {
        self.last_seq + 1 + u64::from(self.end_missing)
    }
}

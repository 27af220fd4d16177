//! What goes into the log and what recovery tells.

use alluvium_codec::entry::Seq;
use std::path::PathBuf;

/// What recovery does with a damaged group that was once durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// Refuse with [`alluvium_env::Error::Corrupt`], naming file and offset.
    #[default]
    Refuse,
    /// Go on behind it with the next whole group, and name the lost numbers in
    /// [`Recovery::lost`].
    Skip,
}

/// How a log is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The size of a segment, in bytes. A group that does not fit gets a larger one.
    pub segment_bytes: u64,
    /// The database that the log belongs to; segments of another are refused.
    pub database_id: u64,
    /// What to do about damage.
    pub on_damage: OnDamage,
    /// New records are numbered from here, or from behind the last one found if that is higher.
    /// 0 and 1 ask for nothing.
    pub next_seq: Seq,
    /// There is a log. Where no whole segment is found it is lost, and that is damage; otherwise
    /// it is a new log.
    pub must_exist: bool,
    /// Bytes of the disk that a new segment leaves free; see [`Purpose`]. 0: as many as there are.
    pub reserve_bytes: u64,
}

impl Options {
    /// Segments of 64 MiB, damage refused, a new log where there is none, no reserve.
    pub fn new(database_id: u64) -> Self {
        let on_damage = OnDamage::Refuse;
        let (segment_bytes, next_seq) = (64 << 20, 1);
        Self { segment_bytes, database_id, on_damage, next_seq, must_exist: false, reserve_bytes: 0 }
    }
}

/// What a group is written for. It decides what a new segment must leave free of the disk, in
/// ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Notes that let segments go: they leave nothing.
    Upkeep,
    /// Deletes, which give space back in the end: they leave half of the reserve.
    Removal,
    /// All else: it leaves the reserve.
    Growth,
}

/// One write batch: the numbers of its operations, and bytes that the log does not look into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The number of its first operation.
    pub first_seq: Seq,
    /// The number of its last operation; not below the first.
    pub last_seq: Seq,
    /// The bytes.
    pub payload: &'a [u8],
}

/// A place in the log, ordered as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// The number of the segment.
    pub segment: u64,
    /// The offset in it, in bytes.
    pub offset: u64,
}

/// An unfinished tail that recovery cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The segment.
    pub path: PathBuf,
    /// Where the tail begins, in bytes.
    pub offset: u64,
    /// Its length up to the last byte that is not zero.
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

/// What recovery found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The number before the first that the log holds or will hold next: records from
    /// `first_seq` to `last_seq` were replayed. With nothing there it is `last_seq + 1`.
    pub first_seq: Seq,
    /// The last number of what was written before the oldest segment and has been released; 0
    /// if nothing was.
    pub released: Seq,
    /// The last number found, or the one before the first; new records continue behind it.
    pub last_seq: Seq,
    /// The tail that was cut off, if there was one.
    pub dropped: Option<Dropped>,
    /// True if damage was skipped behind which nobody knows how much was written: the newest segment is missing, or was cut.
    pub end_missing: bool,
    /// True if the log was closed cleanly, or is new.
    pub clean: bool,
    /// The records replayed.
    pub records: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
    /// There was damage, and it was skipped; only with [`OnDamage::Skip`].
    pub damaged: bool,
    /// Numbers lost to it, ascending.
    pub lost: Vec<Lost>,
    /// Numbers that a segment has passed over, as [`Options::next_seq`] asked when it was made.
    pub passed_over: Vec<Lost>,
}

impl Recovery {
    /// The number with which the log goes on, unless [`Options::next_seq`] is above it. Where nobody knows how much is missing,
    /// one number is passed over, which tells the next recovery so.
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

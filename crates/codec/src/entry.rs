//! The entries of memtables and sorted files, their order, and the iterator that walks them.
//!
//! An entry is (key, sequence number, kind, value). Entries are ordered by key bytes. The entries of one key are
//! ordered by falling sequence number: the newest comes first. No two entries have the same key and number.

use crate::error::{DecodeError, Result};
use crate::varint;
use std::cmp::Ordering;

/// The sequence number of an operation; each operation of the database gets the next one. 0 means
/// none.
pub type Seq = u64;

/// The highest sequence number: a read at it sees everything.
pub const MAX_SEQ: Seq = (1 << 56) - 1;

/// The effect of an entry on its key. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The key has this value: a full write.
    Put = 1,
    /// The key is deleted: a tombstone, a full write.
    Delete = 2,
    /// An operation to fold onto the older versions. Not a full write.
    Delta = 3,
    /// A range of keys is deleted. Reserved: never written.
    RangeDelete = 4,
    /// The result of folding deltas onto a value. Its number is the number of the newest delta. The number of the last
    /// full write precedes the value, see [`put_folded`].
    Folded = 5,
}

impl Kind {
    /// The kind with this number; `None` if this build cannot read it.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Put),
            2 => Some(Self::Delete),
            3 => Some(Self::Delta),
            5 => Some(Self::Folded),
            _ => None,
        }
    }
}

/// Appends the prefix of the value of a [`Kind::Folded`] entry with number `seq`: the difference between `seq` and
/// `full`, the number of the last full write.
pub fn put_folded(out: &mut Vec<u8>, seq: Seq, full: Seq) {
    varint::put_u64(out, seq.saturating_sub(full));
}

/// Splits the content of a [`Kind::Folded`] entry with number `seq` into the number of the last
/// full write and the value.
///
/// # Errors
/// [`DecodeError`] if there is no such number.
pub fn split_folded(seq: Seq, content: &[u8]) -> Result<(Seq, &[u8])> {
    let mut value = content;
    let below = varint::get_u64(&mut value)?;
    match seq.checked_sub(below) {
        Some(full) if full > 0 => Ok((full, value)),
        _ => Err(DecodeError::Invalid("the number of a full write")),
    }
}

/// An entry, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The number.
    pub seq: Seq,
    /// The kind.
    pub kind: Kind,
    /// The value; empty for a tombstone.
    pub value: &'a [u8],
}

/// The order of entries: key, then falling number.
#[inline]
pub fn compare(a_key: &[u8], a_seq: Seq, b_key: &[u8], b_seq: Seq) -> Ordering {
    a_key.cmp(b_key).then_with(|| b_seq.cmp(&a_seq))
}

/// A position in a sorted sequence of entries, moving either way.
///
/// A new iterator is not positioned. When a move passes either end, the iterator becomes invalid, and stays invalid
/// until the next seek. The accessors may be called only while [`EntryIter::valid`]; otherwise they return empty
/// values.
pub trait EntryIter {
    /// The error of a move.
    type Error;

    /// Moves to the first entry.
    fn seek_first(&mut self) -> std::result::Result<(), Self::Error>;
    /// Moves to the last entry.
    fn seek_last(&mut self) -> std::result::Result<(), Self::Error>;
    /// Moves to the first entry at or after (`key`, `seq`) in entry order: the newest version
    /// of `key` not above `seq`, or the first entry of a later key.
    fn seek(&mut self, key: &[u8], seq: Seq) -> std::result::Result<(), Self::Error>;
    /// Moves to the last entry whose key is below `key` (any version of it).
    fn seek_before(&mut self, key: &[u8]) -> std::result::Result<(), Self::Error>;
    /// Moves one entry forward. Does nothing when not valid.
    fn next(&mut self) -> std::result::Result<(), Self::Error>;
    /// Moves one entry back. Does nothing when not valid.
    fn prev(&mut self) -> std::result::Result<(), Self::Error>;
    /// True while on an entry.
    fn valid(&self) -> bool;
    /// The entry's key.
    fn key(&self) -> &[u8];
    /// The entry's number.
    fn seq(&self) -> Seq;
    /// The entry's kind.
    fn kind(&self) -> Kind;
    /// The entry's value.
    fn value(&self) -> &[u8];
}

//! The operations of a batch, with their numbers.

use super::record::decode_op;
use super::{Op, WriteBatch};
use alluvium_codec::entry::{Entry, Kind, Seq};

/// The operations of a batch, numbered from `first`.
#[derive(Clone, Copy)]
pub(crate) struct Numbered<'a> {
    ops: &'a [Op],
    bytes: &'a [u8],
    first: Seq,
}

impl WriteBatch {
    /// The operations, numbered from `first`. `bytes` are those of the batch; of one with stamped entries those that
    /// the commit leader has finished.
    pub(crate) fn numbered<'a>(&'a self, bytes: &'a [u8], first: Seq) -> Numbered<'a> {
        Numbered { ops: &self.ops, bytes, first }
    }
}

impl<'a> Numbered<'a> {
    /// The entries for one partition. Deletes of ranges are not included.
    pub fn entries(self, partition: u16) -> impl Iterator<Item = Entry<'a>> {
        self.marked_entries(partition).map(|(entry, _)| entry)
    }

    /// As [`Numbered::entries`]; the flag is true for index entries.
    #[inline]
    pub fn marked_entries(self, partition: u16) -> impl Iterator<Item = (Entry<'a>, bool)> {
        self.operations(partition).filter(|(entry, _)| entry.kind != Kind::RangeDelete)
    }

    /// As [`Numbered::marked_entries`], without stamped entries.
    pub fn unstamped_entries(self, partition: u16) -> impl Iterator<Item = (Entry<'a>, bool)> {
        let ops = self.ops.iter().filter(move |op| op.partition == partition && !op.stamped);
        ops.filter_map(move |op| self.decode(op)).filter(|(entry, _)| entry.kind != Kind::RangeDelete)
    }

    /// The deletes of ranges for one partition. The key and the value of an entry are the bounds of the range.
    pub fn deleted_ranges(self, partition: u16) -> impl Iterator<Item = Entry<'a>> {
        let operations = self.operations(partition).map(|(entry, _)| entry);
        operations.filter(|entry| entry.kind == Kind::RangeDelete)
    }

    #[inline]
    fn operations(self, partition: u16) -> impl Iterator<Item = (Entry<'a>, bool)> {
        self.ops.iter().filter(move |op| op.partition == partition).filter_map(move |op| self.decode(op))
    }

    #[inline]
    fn decode(self, op: &Op) -> Option<(Entry<'a>, bool)> {
        let mut input = self.bytes.get(op.at as usize..)?;
        let op = decode_op(&mut input, self.first + Seq::from(op.number)).ok()?;
        Some((op.entry, op.is_entry))
    }
}

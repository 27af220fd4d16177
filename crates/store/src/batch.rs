//! Write batches: what a client asks for, encoded once, as it will stand in the log.
//!
//! The bytes of a batch are its log record (`docs/format/store.md`): a tag, then per operation
//! kind, partition, internal key and value. The memtables read from the same bytes.

use crate::multivalue;
use crate::trees::TreeId;
use codec::entry::{Entry, Kind, Seq};
use codec::limits::{get_number, get_seq};
use codec::{DecodeError, varint};

/// The first byte of a record that is a batch.
pub(crate) const TAG_BATCH: u8 = 0;
/// The first byte of a record that notes up to which numbers partitions have been flushed.
pub(crate) const TAG_FLUSHED: u8 = 1;

/// Puts, deletes, deltas and deletes of ranges, over any trees and partitions, that happen together or not
/// at all.
///
/// Made by [`crate::Store::batch`]. Operations on one key take effect in their order.
#[derive(Debug, Clone)]
pub struct WriteBatch {
    partitions: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) ops: Vec<Op>,
    pub(crate) trees: Vec<u32>,
    /// The numbers that the operations take: index entries share that of the operation before them.
    numbers: u32,
    /// Trees, and the number of the last change of each that the batch was made under.
    pub(crate) schemas: Vec<(u32, Seq)>,
    /// A put was added, so the batch makes the store larger.
    pub(crate) grows: bool,
    /// A delta was added.
    pub(crate) deltas: bool,
    /// A range was deleted.
    pub(crate) ranges: bool,
}

/// Where an operation stands in the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    /// [`lock_hash`] of tree and key.
    pub hash: u64,
    pub at: u32,
    /// Its number, counted from the batch's first.
    number: u32,
    pub partition: u16,
}

/// On an operation's kind: it is an index entry, and has the number of the operation before it.
const ENTRY: u8 = 0x80;

/// The hash that the lock table knows a key by.
pub(crate) fn lock_hash(tree: u32, key_hash: u64) -> u64 {
    key_hash ^ u64::from(tree).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The partition of a key with this hash.
#[inline]
pub(crate) fn partition_of(hash: u64, partitions: u32) -> u32 {
    // The high half, so that filters (which use the low bits) stay independent of the partition.
    ((u64::from((hash >> 32) as u32) * u64::from(partitions)) >> 32) as u32
}

impl WriteBatch {
    pub(crate) fn new(partitions: u32) -> Self {
        let (bytes, ops, trees) = (vec![TAG_BATCH], Vec::new(), Vec::new());
        let (numbers, schemas) = (0, Vec::new());
        Self { partitions, bytes, ops, trees, numbers, schemas, grows: false, deltas: false, ranges: false }
    }

    /// Sets `key` of `tree` to `value`.
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push(Kind::Put, tree.0, key, value);
        self.grows = true;
    }

    /// Removes `key` of `tree`, whether it is there or not.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.push(Kind::Delete, tree.0, key, &[]);
    }

    /// Removes the keys of `tree` from `from` to below `to`, whatever there is of them. It reads nothing,
    /// and costs the same for one key and for all. Without effect if there are no such keys (`from` is not
    /// below `to`).
    ///
    /// It counts as one operation for each partition, since keys lie in all of them. Other writers' key
    /// locks do not keep it out: who reads a key, and writes it after the range was deleted, keeps what it
    /// has written. Not for trees of [`crate::Multivalue`]; see [`WriteBatch::delete_values`].
    pub fn delete_range(&mut self, tree: TreeId, from: &[u8], to: &[u8]) {
        // The system tree lives in partition 0.
        let partitions = if tree.0 == 0 { 1 } else { self.partitions };
        for partition in 0..partitions {
            self.push_range(tree.0, partition, from, to);
        }
    }

    /// Applies `delta` to the value of `key` of `tree`, without reading it: [`crate::Fold`] says what comes
    /// of it, when the key is read or its files are merged. On an absent key it does nothing.
    pub fn delta(&mut self, tree: TreeId, key: &[u8], delta: &[u8]) {
        self.push(Kind::Delta, tree.0, key, delta);
        (self.grows, self.deltas) = (true, true);
    }

    /// Sets an index entry of the operation before, which is on the document that the entry leads to: it goes to the same
    /// partition and has the same number, so that whoever reads both can tell that they belong together. `tree`
    /// is one of [`crate::Store::change_trees`]. Without effect in an empty batch.
    pub fn put_entry(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push_entry(Kind::Put, tree, key, value);
    }

    /// Removes an index entry of the document that the operation before is on; as [`WriteBatch::put_entry`].
    pub fn delete_entry(&mut self, tree: TreeId, key: &[u8]) {
        self.push_entry(Kind::Delete, tree, key, &[]);
    }

    fn push_entry(&mut self, kind: Kind, tree: TreeId, key: &[u8], value: &[u8]) {
        let Some(owner) = self.ops.last().copied() else { return };
        let at = self.bytes.len() as u32;
        self.ops.push(Op { at, ..owner });
        self.push_bytes(kind as u8 | ENTRY, tree.0, owner.partition, key, value);
    }

    /// The batch was made for `tree` as it is described since the operation with this number
    /// ([`crate::Store::schema`]): if it has another description by the time the batch is numbered, nothing is written.
    pub fn expect_schema(&mut self, tree: TreeId, schema: Seq) {
        if !self.schemas.contains(&(tree.0, schema)) {
            self.schemas.push((tree.0, schema));
        }
    }

    /// Adds `value` to those under `key` of a multivalue tree; once more has no effect.
    pub fn put_value(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push_value(Kind::Put, tree, key, value);
        self.grows = true;
    }

    /// Removes `value` from those under `key` of a multivalue tree, whether it is there or not.
    pub fn delete_value(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push_value(Kind::Delete, tree, key, value);
    }

    /// Removes all values under `key` of a multivalue tree. It reads nothing, and costs the same for one
    /// value and for millions.
    pub fn delete_values(&mut self, tree: TreeId, key: &[u8]) {
        let (from, to, routing) = multivalue::internal_range(key);
        self.push_range(tree.0, partition_of(routing, self.partitions), &from, &to);
    }

    fn push_range(&mut self, tree: u32, partition: u32, from: &[u8], to: &[u8]) {
        if from >= to {
            return;
        }
        let end = [&tree.to_be_bytes(), to].concat();
        let lock = lock_hash(tree, codec::hash64(from));
        self.push_at(Kind::RangeDelete, tree, (lock, partition), from, &end);
        self.ranges = true;
    }

    fn push_value(&mut self, kind: Kind, tree: TreeId, key: &[u8], value: &[u8]) {
        let (internal, routing) = multivalue::internal_key(key, value);
        let lock = lock_hash(tree.0, codec::hash64(&internal));
        self.push_at(kind, tree.0, (lock, partition_of(routing, self.partitions)), &internal, &[]);
    }

    fn push(&mut self, kind: Kind, tree: u32, key: &[u8], value: &[u8]) {
        let hash = codec::hash64(key);
        // The system tree is small and read at open: it lives in partition 0.
        let partition = if tree == 0 { 0 } else { partition_of(hash, self.partitions) };
        self.push_at(kind, tree, (lock_hash(tree, hash), partition), key, value);
    }

    /// Adds an operation with the hash that its lock goes by, and its partition.
    fn push_at(&mut self, kind: Kind, tree: u32, (hash, partition): (u64, u32), key: &[u8], value: &[u8]) {
        let (at, partition) = (self.bytes.len() as u32, partition as u16);
        self.ops.push(Op { hash, at, number: self.numbers, partition });
        self.numbers += 1;
        self.push_bytes(kind as u8, tree, partition, key, value);
    }

    fn push_bytes(&mut self, kind: u8, tree: u32, partition: u16, key: &[u8], value: &[u8]) {
        self.bytes.reserve(key.len() + value.len() + 16);
        self.bytes.push(kind);
        varint::put_u64(&mut self.bytes, u64::from(partition));
        varint::put_u64(&mut self.bytes, key.len() as u64 + 4);
        self.bytes.extend_from_slice(&tree.to_be_bytes());
        self.bytes.extend_from_slice(key);
        varint::put_bytes(&mut self.bytes, value);
        if self.trees.last() != Some(&tree) && !self.trees.contains(&tree) {
            self.trees.push(tree);
        }
    }

    /// The number of operations, without index entries.
    pub fn len(&self) -> usize {
        self.numbers as usize
    }

    /// True if there are no operations.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The bytes that the batch takes in the log.
    pub fn encoded_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Makes room for `bytes` more.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Keys and values of the puts on a tree that are no index entries, in their order.
    pub fn puts(&self, tree: TreeId) -> impl Iterator<Item = (&[u8], &[u8])> {
        let tree = tree.0.to_be_bytes();
        self.ops.iter().filter_map(move |op| {
            let mut input = self.bytes.get(op.at as usize..)?;
            let op = decode_op(&mut input, 0).ok()?;
            let key = op.entry.key.strip_prefix(&tree)?;
            (op.entry.kind == Kind::Put && !op.shares).then_some((key, op.entry.value))
        })
    }

    /// Keeps the operations, counted from 0 in their order, for which `keep` is true, with their index entries.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let old = std::mem::take(&mut self.bytes);
        let ops = std::mem::take(&mut self.ops);
        self.bytes.push(TAG_BATCH);
        self.numbers = 0;
        let mut last = None;
        for (at, op) in ops.iter().enumerate() {
            let end = ops.get(at + 1).map_or(old.len(), |next| next.at as usize);
            let kept = match last {
                Some((number, kept)) if number == op.number => kept,
                _ => {
                    let kept = keep(op.number as usize);
                    self.numbers += u32::from(kept);
                    kept
                }
            };
            last = Some((op.number, kept));
            if kept {
                self.ops.push(Op { at: self.bytes.len() as u32, number: self.numbers - 1, ..*op });
                self.bytes.extend_from_slice(old.get(op.at as usize..end).unwrap_or(&[]));
            }
        }
    }

    /// Forgets all operations and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.truncate(1);
        self.ops.clear();
        self.trees.clear();
        self.numbers = 0;
        self.schemas.clear();
        (self.grows, self.deltas, self.ranges) = (false, false, false);
    }

    /// The entries for one partition, numbered from `first`; without deletes of ranges.
    pub(crate) fn entries(&self, partition: u16, first: Seq) -> impl Iterator<Item = Entry<'_>> {
        self.marked_entries(partition, first).map(|(entry, _)| entry)
    }

    /// As [`WriteBatch::entries`]; true for index entries.
    pub(crate) fn marked_entries(&self, partition: u16, first: Seq) -> impl Iterator<Item = (Entry<'_>, bool)> {
        self.operations(partition, first).filter(|(entry, _)| entry.kind != Kind::RangeDelete)
    }

    /// The deletes of ranges for one partition, numbered from `first`: key and value are the bounds.
    pub(crate) fn deleted_ranges(&self, partition: u16, first: Seq) -> impl Iterator<Item = Entry<'_>> {
        let operations = self.operations(partition, first).map(|(entry, _)| entry);
        operations.filter(|entry| entry.kind == Kind::RangeDelete)
    }

    #[inline]
    fn operations(&self, partition: u16, first: Seq) -> impl Iterator<Item = (Entry<'_>, bool)> {
        self.ops.iter().filter(move |op| op.partition == partition).filter_map(move |op| {
            let mut input = self.bytes.get(op.at as usize..)?;
            let op = decode_op(&mut input, first + Seq::from(op.number)).ok()?;
            Some((op.entry, op.shares))
        })
    }

    /// The partitions that the batch touches, ascending.
    pub(crate) fn touched(&self) -> Vec<u16> {
        let mut touched: Vec<u16> = Vec::with_capacity(self.partitions.min(16) as usize);
        for op in &self.ops {
            if !touched.contains(&op.partition) {
                touched.push(op.partition);
            }
        }
        touched.sort_unstable();
        touched
    }
}

/// An operation, decoded.
struct Decoded<'a> {
    partition: u32,
    entry: Entry<'a>,
    /// It has the number of the operation before it.
    shares: bool,
}

/// Takes one operation off the front of `input`. `seq` is the number that it has.
fn decode_op<'a>(input: &mut &'a [u8], seq: Seq) -> codec::Result<Decoded<'a>> {
    let (&kind, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
    *input = rest;
    let shares = kind & ENTRY != 0;
    let kind = match kind {
        1 => Kind::Put,
        2 => Kind::Delete,
        3 => Kind::Delta,
        4 => Kind::RangeDelete,
        _ if kind == Kind::Put as u8 | ENTRY => Kind::Put,
        _ if kind == Kind::Delete as u8 | ENTRY => Kind::Delete,
        _ => return Err(DecodeError::Invalid("an unknown kind of operation")),
    };
    let partition = varint::get_u64(input)?;
    let partition = u32::try_from(partition).map_err(|_| DecodeError::Invalid("a partition out of range"))?;
    let key = varint::get_bytes(input)?;
    codec::limits::tree_of(key)?;
    let value = varint::get_bytes(input)?;
    if kind == Kind::RangeDelete && (value <= key || !value.starts_with(&key[..4])) {
        return Err(DecodeError::Invalid("a range of keys that is empty or leaves its tree"));
    }
    Ok(Decoded { partition, entry: Entry { key, seq, kind, value }, shares })
}

/// A log record, decoded.
pub(crate) enum LogRecord<'a> {
    /// Operations, with their partitions.
    Batch(Vec<(u32, Entry<'a>)>),
    /// How far the partitions are flushed.
    Flushed {
        /// Only numbers below this were removed from the log.
        needed: Seq,
        /// Partitions, and up to which number each has been flushed and its manifest synced.
        flushed: Vec<(u32, Seq)>,
    },
}

/// Decodes a log record whose first operation has the number `first`.
pub(crate) fn decode_record(payload: &[u8], first: Seq) -> codec::Result<LogRecord<'_>> {
    let (&tag, mut input) = payload.split_first().ok_or(DecodeError::Truncated)?;
    match tag {
        TAG_BATCH => {
            let mut ops: Vec<(u32, Entry<'_>)> = Vec::new();
            let mut next = first;
            while !input.is_empty() {
                let Decoded { partition, mut entry, shares } = decode_op(&mut input, next)?;
                match ops.last() {
                    Some((owner, before)) if shares && *owner == partition => entry.seq = before.seq,
                    _ if shares => return Err(DecodeError::Invalid("an index entry apart from its document")),
                    _ => next += 1,
                }
                ops.push((partition, entry));
            }
            Ok(LogRecord::Batch(ops))
        }
        TAG_FLUSHED => {
            // The number behind the last one, where nothing is needed.
            let needed = get_number(&mut input, "a sequence number")?;
            let mut flushed = Vec::new();
            while !input.is_empty() {
                let partition = varint::get_u64(&mut input)?;
                let partition =
                    u32::try_from(partition).map_err(|_| DecodeError::Invalid("a partition out of range"))?;
                flushed.push((partition, get_seq(&mut input, "a flushed number")?));
            }
            Ok(LogRecord::Flushed { needed, flushed })
        }
        _ => Err(DecodeError::Invalid("an unknown kind of record")),
    }
}

/// The record that notes how far partitions are flushed, and what of the log is needed still.
pub(crate) fn encode_flushed(needed: Seq, flushed: impl Iterator<Item = (u32, Seq)>) -> Vec<u8> {
    let mut bytes = vec![TAG_FLUSHED];
    varint::put_u64(&mut bytes, needed);
    for (partition, seq) in flushed {
        varint::put_u64(&mut bytes, u64::from(partition));
        varint::put_u64(&mut bytes, seq);
    }
    bytes
}

#[cfg(test)]
mod tests;

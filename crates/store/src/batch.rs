//! Write batches. A batch is encoded once, in the format of the log.
//!
//! The bytes of a batch are its log record (`docs/format/store.md`): a tag, then, for each operation, the kind, the
//! partition, the internal key and the value. The memtables read from the same bytes.

mod numbered;
mod of_sets;
mod record;
mod stamps;

use crate::keys::{self, ValueRange, lock_hash, partition_of};
use crate::trees::TreeId;
use alluvium_codec::entry::{Kind, Seq};
use alluvium_codec::varint;
use record::decode_op;

pub(crate) use numbered::Numbered;
pub(crate) use record::{LogRecord, decode_record, encode_flushed};
pub use stamps::BatchWrite;
pub(crate) use stamps::Unstamped;

/// The first byte of a batch record.
pub(crate) const TAG_BATCH: u8 = 0;
/// The first byte of a record that notes up to which number each partition is flushed.
pub(crate) const TAG_FLUSHED: u8 = 1;

/// Puts, deletes, deltas and deletes of ranges, in any trees and partitions. They take effect together or not at all.
///
/// Created by [`crate::Store::batch`]. Operations on the same key take effect in the order in which they were added.
#[derive(Debug, Clone)]
pub struct WriteBatch {
    partitions: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) ops: Vec<Op>,
    pub(crate) trees: Vec<u32>,
    /// The count of sequence numbers that the operations take. An index entry has the number of the operation before
    /// it.
    numbers: u32,
    /// Trees, each with the number of the last change of its description at the time when the batch was made.
    pub(crate) schemas: Vec<(u32, Seq)>,
    /// A put was added, so the batch makes the store larger.
    pub(crate) grows: bool,
    /// A delta was added.
    pub(crate) deltas: bool,
    /// A range was deleted.
    pub(crate) ranges: bool,
    /// A stamped entry was added. Its number is open in the bytes.
    pub(crate) stamped: bool,
}

/// The position of an operation in the bytes of the batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    /// [`lock_hash`] of tree and key.
    pub hash: u64,
    pub at: u32,
    /// The number of the operation, counted from the first number of the batch.
    number: u32,
    pub partition: u16,
    /// True if all writers of the key put the same value.
    pub alike: bool,
    /// True for a stamped entry.
    stamped: bool,
}

/// The lock and the partition of an operation.
struct Place {
    /// [`lock_hash`] of tree and key.
    lock: u64,
    partition: u16,
}

/// The bit in the kind byte that marks an index entry. An index entry has the number of the operation before it.
const ENTRY: u8 = 0x80;

impl WriteBatch {
    pub(crate) fn new(partitions: u32) -> Self {
        let (bytes, ops, trees) = (vec![TAG_BATCH], Vec::new(), Vec::new());
        let (numbers, schemas) = (0, Vec::new());
        let (grows, deltas, ranges, stamped) = (false, false, false, false);
        Self { partitions, bytes, ops, trees, numbers, schemas, grows, deltas, ranges, stamped }
    }

    /// Sets `key` of `tree` to `value`.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(store.contains(pets, b"rex")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push(Kind::Put, tree.0, key, value);
        self.grows = true;
    }

    /// Removes `key` of `tree`, whether it exists or not.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"rex");
    /// batch.delete(pets, b"ann"); // no error
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(!store.contains(pets, b"rex")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.push(Kind::Delete, tree.0, key, &[]);
    }

    /// Removes the keys of `tree` from `from` to below `to`. Reads nothing, and costs the same for one key and for all.
    /// Has no effect if the range is empty (`from` is not below `to`).
    ///
    /// The delete counts as one operation for each partition, because each may have keys of the range. It does not wait
    /// for the key locks of other writers: if another writer reads a key and then writes it after the delete of the
    /// range, the written value remains. Not for trees of [`crate::Multivalue`]; see [`WriteBatch::delete_values`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// for key in [b"2023-12-31", b"2024-02-29", b"2024-12-24", b"2025-01-01"] {
    ///     batch.put(pets, key, b"");
    /// }
    /// batch.delete_range(pets, b"2024", b"2025");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(store.contains(pets, b"2023-12-31")? && store.contains(pets, b"2025-01-01")?);
    /// assert!(!store.contains(pets, b"2024-02-29")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn delete_range(&mut self, tree: TreeId, from: &[u8], to: &[u8]) {
        // The system tree is in partition 0.
        let partitions = if tree.0 == 0 { 1 } else { self.partitions };
        for partition in 0..partitions {
            self.push_range(tree.0, partition, from, to);
        }
    }

    /// Applies `delta` to the value of `key` of `tree`, without reading the value. [`crate::Fold`] computes the new
    /// value when the key is read or its files are merged. A delta on an absent key has no effect.
    ///
    /// ```
    /// use alluvium_store::{Durability, Fold, FoldError, Options, Store, TreeId};
    ///
    /// /// A delta is appended to the value.
    /// #[derive(Debug)]
    /// struct Append;
    ///
    /// impl Fold for Append {
    ///     fn fold(
    ///         &self,
    ///         _tree: TreeId,
    ///         _key: &[u8],
    ///         base: &[u8],
    ///         deltas: &[&[u8]],
    ///         out: &mut Vec<u8>,
    ///     ) -> Result<Option<u64>, FoldError> {
    ///         out.extend_from_slice(base);
    ///         deltas.iter().for_each(|delta| out.extend_from_slice(delta));
    ///         Ok(Some(0))
    ///     }
    /// }
    ///
    /// let options = Options { fold: Some(std::sync::Arc::new(Append)), ..Options::default() };
    /// let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), options)?;
    /// let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delta(pets, b"rex", b", three years");
    /// batch.delta(pets, b"ann", b"does nothing");
    /// store.write(batch, Durability::Periodic)?;
    /// let mut value = Vec::new();
    /// assert!(store.get(pets, b"rex", &mut value)? && !store.contains(pets, b"ann")?);
    /// assert_eq!(value, b"dog, three years");
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn delta(&mut self, tree: TreeId, key: &[u8], delta: &[u8]) {
        self.push(Kind::Delta, tree.0, key, delta);
        (self.grows, self.deltas) = (true, true);
    }

    /// Sets an index entry for the document of the previous operation. The entry is in the same partition and has the
    /// same number as that operation, so that a reader of both knows that they belong together. `tree` must be created
    /// by [`crate::Store::change_trees`]. Has no effect in an empty batch.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let index = |_: &[_]| TreeChanges { create: vec![b"ages".to_vec()], ..TreeChanges::default() };
    /// # let ages = store.change_trees(1, index)?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"3");
    /// batch.put_entry(ages, b"3rex", b"");
    /// assert_eq!(batch.len(), 1, "an entry is part of its document's operation");
    /// store.write(batch, Durability::Periodic)?;
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn put_entry(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push_entry(Kind::Put, tree, key, value);
    }

    /// Removes an index entry of the document of the previous operation; otherwise as [`WriteBatch::put_entry`].
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let index = |_: &[_]| TreeChanges { create: vec![b"ages".to_vec()], ..TreeChanges::default() };
    /// # let ages = store.change_trees(1, index)?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"3");
    /// # batch.put_entry(ages, b"3rex", b"");
    /// # store.write(batch, Durability::Periodic)?;
    /// let mut batch = store.batch();
    /// batch.delete(pets, b"rex");
    /// batch.delete_entry(ages, b"3rex");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(store.scan(ages, alluvium_store::Bounds::all(), None)?.next()?.is_none());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn delete_entry(&mut self, tree: TreeId, key: &[u8]) {
        self.push_entry(Kind::Delete, tree, key, &[]);
    }

    fn push_entry(&mut self, kind: Kind, tree: TreeId, key: &[u8], value: &[u8]) {
        let Some(owner) = self.ops.last().copied() else { return };
        let at = self.bytes.len() as u32;
        self.ops.push(Op { at, stamped: false, ..owner });
        self.push_bytes(kind as u8 | ENTRY, tree.0, owner.partition, &[key], value);
    }

    /// Declares that the batch was made for one version of the description of `tree`: the version since the operation
    /// with this number ([`crate::Store::schema`]). If the description has changed when the batch gets its numbers,
    /// nothing is written.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.expect_schema(pets, store.schema(pets));
    /// batch.put(pets, b"rex", b"dog");
    /// store.describe_trees(&[(pets, b"pets, but otherwise")])?; // before the batch is written
    /// let refused = store.write(batch, Durability::Periodic);
    /// assert!(matches!(refused, Err(alluvium_store::Error::SchemaChanged(_))));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn expect_schema(&mut self, tree: TreeId, schema: Seq) {
        if !self.schemas.contains(&(tree.0, schema)) {
            self.schemas.push((tree.0, schema));
        }
    }

    /// Adds `value` to the values under `key` of a multivalue tree. Adding the same value again has no effect.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// let mut batch = store.batch();
    /// batch.put_value(tree, b"ada", b"math");
    /// batch.put_value(tree, b"ada", b"math");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(tags.contains(b"ada", b"math")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn put_value(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push_value(Kind::Put, tree, key, value);
        self.grows = true;
    }

    /// Removes `value` from the values under `key` of a multivalue tree, whether it exists or not.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// let mut batch = store.batch();
    /// batch.put_value(tree, b"ada", b"math");
    /// batch.put_value(tree, b"ada", b"poetry");
    /// batch.delete_value(tree, b"ada", b"math");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(!tags.contains(b"ada", b"math")? && tags.contains(b"ada", b"poetry")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn delete_value(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.push_value(Kind::Delete, tree, key, value);
    }

    /// Removes all values under `key` of a multivalue tree. Reads nothing, and costs the same for one value and for
    /// millions.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let tree = store.create_multivalue_tree(b"tags")?;
    /// let tags = store.multivalue(tree)?;
    /// let mut batch = store.batch();
    /// batch.put_value(tree, b"ada", b"math");
    /// batch.put_value(tree, b"bob", b"math");
    /// batch.delete_values(tree, b"ada");
    /// store.write(batch, Durability::Periodic)?;
    /// assert!(!tags.contains(b"ada", b"math")? && tags.contains(b"bob", b"math")?);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn delete_values(&mut self, tree: TreeId, key: &[u8]) {
        let ValueRange { from, to, hash } = keys::of_values(key);
        self.push_range(tree.0, partition_of(hash, self.partitions), &from, &to);
    }

    fn push_range(&mut self, tree: u32, partition: u32, from: &[u8], to: &[u8]) {
        if from >= to {
            return;
        }
        let end = [&tree.to_be_bytes(), to].concat();
        let place = Place { lock: lock_hash(tree, alluvium_codec::hash64(from)), partition: partition as u16 };
        self.push_at(place, Kind::RangeDelete, tree, from, &end);
        self.ranges = true;
    }

    fn push_value(&mut self, kind: Kind, tree: TreeId, key: &[u8], value: &[u8]) {
        let stored = keys::of_value(key, value);
        let partition = partition_of(alluvium_codec::hash64(key), self.partitions) as u16;
        let place = Place { lock: lock_hash(tree.0, alluvium_codec::hash64(&stored)), partition };
        self.push_at(place, kind, tree.0, &stored, &[]);
    }

    fn push(&mut self, kind: Kind, tree: u32, key: &[u8], value: &[u8]) {
        let hash = alluvium_codec::hash64(key);
        // The system tree is small and is read at open, so it is in partition 0.
        let partition = if tree == 0 { 0 } else { partition_of(hash, self.partitions) as u16 };
        self.push_at(Place { lock: lock_hash(tree, hash), partition }, kind, tree, key, value);
    }

    fn push_at(&mut self, place: Place, kind: Kind, tree: u32, key: &[u8], value: &[u8]) {
        let Place { lock: hash, partition } = place;
        let (at, number) = (self.bytes.len() as u32, self.numbers);
        self.ops.push(Op { hash, at, number, partition, alike: false, stamped: false });
        self.numbers += 1;
        self.push_bytes(kind as u8, tree, partition, &[key], value);
    }

    #[inline]
    fn push_bytes<const N: usize>(&mut self, kind: u8, tree: u32, partition: u16, key: &[&[u8]; N], value: &[u8]) {
        let key_bytes: usize = key.iter().map(|part| part.len()).sum();
        self.bytes.reserve(key_bytes + value.len() + 16);
        self.bytes.push(kind);
        varint::put_u64(&mut self.bytes, u64::from(partition));
        varint::put_u64(&mut self.bytes, key_bytes as u64 + 4);
        self.bytes.extend_from_slice(&tree.to_be_bytes());
        key.iter().for_each(|part| self.bytes.extend_from_slice(part));
        varint::put_bytes(&mut self.bytes, value);
        if self.trees.last() != Some(&tree) && !self.trees.contains(&tree) {
            self.trees.push(tree);
        }
    }

    /// The number of operations, without index entries.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"tom");
    /// assert_eq!(batch.len(), 2);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn len(&self) -> usize {
        self.numbers as usize
    }

    /// True if there are no operations.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// assert!(batch.is_empty());
    /// batch.delete(pets, b"tom");
    /// assert!(!batch.is_empty());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The bytes that the batch takes in the log.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", &[b'x'; 1000]);
    /// assert!(batch.encoded_bytes() > 1000 && batch.encoded_bytes() <= store.max_batch_bytes());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn encoded_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Reserves memory for `bytes` more bytes.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.reserve(1 << 20); // once, in place of growing many times
    /// batch.put(pets, b"rex", b"dog");
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// The keys and values of the puts on a tree, in their order. Index entries are not included.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"tom");
    /// assert_eq!(batch.puts(pets).collect::<Vec<_>>(), [(&b"rex"[..], &b"dog"[..])]);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn puts(&self, tree: TreeId) -> impl Iterator<Item = (&[u8], &[u8])> {
        let tree = tree.0.to_be_bytes();
        self.ops.iter().filter_map(move |op| {
            let mut input = self.bytes.get(op.at as usize..)?;
            let op = decode_op(&mut input, 0).ok()?;
            let key = op.entry.key.strip_prefix(&tree)?;
            (op.entry.kind == Kind::Put && !op.is_entry).then_some((key, op.entry.value))
        })
    }

    /// The puts and deletes of keys of a tree, in their order: the key, and the value of a put. Index entries are not
    /// included.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"tom");
    /// assert_eq!(batch.changes(pets).collect::<Vec<_>>(), [(&b"rex"[..], Some(&b"dog"[..])), (b"tom", None)]);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn changes(&self, tree: TreeId) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let tree = tree.0.to_be_bytes();
        self.ops.iter().filter_map(move |op| {
            let mut input = self.bytes.get(op.at as usize..)?;
            let op = decode_op(&mut input, 0).ok()?;
            let key = op.entry.key.strip_prefix(&tree)?;
            match op.entry.kind {
                _ if op.is_entry => None,
                Kind::Put => Some((key, Some(op.entry.value))),
                Kind::Delete => Some((key, None)),
                _ => None,
            }
        })
    }

    /// The keys of a tree that the batch puts, deletes or adds a delta to, in their order. Index entries are not
    /// included.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"tom");
    /// assert_eq!(batch.keys(pets).collect::<Vec<_>>(), [b"rex", b"tom"]);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn keys(&self, tree: TreeId) -> impl Iterator<Item = &[u8]> + Clone {
        let tree = tree.0.to_be_bytes();
        self.ops.iter().filter_map(move |op| {
            let mut input = self.bytes.get(op.at as usize..)?;
            let op = decode_op(&mut input, 0).ok()?;
            let key = op.entry.key.strip_prefix(&tree)?;
            (!op.is_entry).then_some(key)
        })
    }

    /// Keeps the operations for which `keep` returns true, with their index entries. The argument of `keep` is the
    /// position of the operation, counted from 0.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.put(pets, b"tom", b"cat");
    /// batch.retain(|at| at == 1);
    /// assert_eq!(batch.puts(pets).collect::<Vec<_>>(), [(&b"tom"[..], &b"cat"[..])]);
    /// # alluvium_store::Result::Ok(())
    /// ```
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

    /// Removes all operations and keeps the memory.
    ///
    /// ```
    /// # use alluvium_store::{Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.clear();
    /// assert!(batch.is_empty());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn clear(&mut self) {
        self.bytes.truncate(1);
        self.ops.clear();
        self.trees.clear();
        self.numbers = 0;
        self.schemas.clear();
        (self.grows, self.deltas, self.ranges, self.stamped) = (false, false, false, false);
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

#[cfg(test)]
mod tests;

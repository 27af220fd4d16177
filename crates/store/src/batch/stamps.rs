//! Stamped entries: entries whose keys begin with the number of their operation, the last number of their batch, and the
//! time of the commit, which are known only when the batch is committed.

use super::record::decode_op;
use super::{Op, TAG_BATCH, WriteBatch};
use crate::trees::TreeId;
use alluvium_codec::entry::{Kind, Seq};
use alluvium_codec::varint;
use alluvium_env::sync::Mutex;
use std::sync::OnceLock;

/// The length of a stamp in a key, in bytes: the number of the operation, the last one of its batch, and the time.
const STAMP_BYTES: usize = 2 * size_of::<Seq>() + size_of::<i64>();

impl WriteBatch {
    /// Sets an entry whose key is the number of the previous operation, the last number of the batch, the time of the
    /// commit by the clock in milliseconds since 1970 (0 before), each 8 bytes big endian, and then `rest`. Thus the
    /// keys of the tree are in the order of the commits. Otherwise as [`WriteBatch::put_entry`]: the entry is in the same
    /// partition as the operation and has the same number, and has no effect in an empty batch.
    ///
    /// These are filled in when the batch is committed. Therefore a write set does not show the entry before its
    /// commit. The log has such a batch uncompressed. Several stamped entries of one operation in one tree must differ
    /// in `rest`.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let history = store.change_trees(1, |_| TreeChanges { create: vec![b"history".to_vec()], ..Default::default() })?[0];
    /// for name in [b"tom", b"rex"] {
    ///     let mut batch = store.batch();
    ///     batch.put(pets, name, b"3");
    ///     batch.put_stamped(history, b"", name);
    ///     let number = store.write(batch, Durability::Periodic)?;
    ///     let written = Bounds { lower: std::ops::Bound::Included(number.to_be_bytes().to_vec()), ..Bounds::all() };
    ///     let mut scan = store.scan(history, written, None)?;
    ///     let (key, value) = scan.next()?.unwrap();
    ///     assert_eq!((&key[..8], &key[8..16], value), (&number.to_be_bytes()[..], &number.to_be_bytes()[..], &name[..]));
    /// }
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn put_stamped(&mut self, tree: TreeId, rest: &[u8], value: &[u8]) {
        let Some(owner) = self.ops.last().copied() else { return };
        let at = self.bytes.len() as u32;
        self.ops.push(Op { at, stamped: true, ..owner });
        self.push_bytes(Kind::Put as u8 | super::ENTRY, tree.0, owner.partition, &[&[0; STAMP_BYTES], rest], value);
        self.stamped = true;
    }

    /// Adds a stamped entry of `tree` for each operation for which `value` returns one. Operations are counted from 0;
    /// those before the `from`-th, and deletes of ranges, are left out. The key of the entry is its stamp alone. After
    /// an error the batch is unchanged.
    ///
    /// ```
    /// # use alluvium_store::{BatchWrite, Bounds, Durability, Options, Store, TreeChanges};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let history = store.change_trees(1, |_| TreeChanges { create: vec![b"history".to_vec()], ..Default::default() })?[0];
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// batch.delete(pets, b"tom");
    /// batch.stamp_each(history, 0, |_, write| {
    ///     let is_delete = matches!(write, BatchWrite::Delete { .. });
    ///     alluvium_store::Result::Ok(is_delete.then(|| write.key().to_vec()))
    /// })?;
    /// let number = store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(history, Bounds::all(), None)?;
    /// let (key, value) = scan.next()?.unwrap();
    /// assert_eq!((&key[..8], value), (&number.to_be_bytes()[..], &b"tom"[..]));
    /// assert_eq!(scan.next()?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Those of `value`.
    pub fn stamp_each<E>(
        &mut self,
        tree: TreeId,
        from: usize,
        mut value: impl FnMut(usize, BatchWrite<'_>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<(), E> {
        if from + 1 == self.len() {
            return self.stamp_last(tree, value);
        }
        let mut stamped =
            Self { bytes: vec![TAG_BATCH], ops: Vec::with_capacity(2 * self.ops.len()), ..Self::new(self.partitions) };
        stamped.bytes.reserve(2 * self.bytes.len());
        let (mut any, mut event, mut last) = (false, None::<Vec<u8>>, None);
        for (at, op) in self.ops.iter().enumerate() {
            let end = self.ops.get(at + 1).map_or(self.bytes.len(), |next| next.at as usize);
            let bytes = self.bytes.get(op.at as usize..end).unwrap_or(&[]);
            if last != Some(op.number) {
                // Behind the index entries of the operation before.
                event.take().iter().for_each(|value| stamped.put_stamped(tree, &[], value));
                event = match BatchWrite::decode(bytes).filter(|_| op.number as usize >= from) {
                    Some(write) => value(op.number as usize, write)?,
                    None => None,
                };
                any |= event.is_some();
            }
            last = Some(op.number);
            stamped.ops.push(Op { at: stamped.bytes.len() as u32, ..*op });
            stamped.bytes.extend_from_slice(bytes);
        }
        event.iter().for_each(|value| stamped.put_stamped(tree, &[], value));
        if any {
            let Self { bytes, ops, .. } = stamped;
            (self.bytes, self.ops, self.stamped) = (bytes, ops, true);
            if !self.trees.contains(&tree.0) {
                self.trees.push(tree.0);
            }
        }
        Ok(())
    }

    /// [`WriteBatch::stamp_each`] for the last operation alone, whose entry belongs at the end.
    fn stamp_last<E>(
        &mut self,
        tree: TreeId,
        mut value: impl FnMut(usize, BatchWrite<'_>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<(), E> {
        let last = self.len() as u32 - 1;
        let first = self.ops.iter().rposition(|op| op.number != last).map_or(0, |before| before + 1);
        let start = self.ops.get(first).map_or(self.bytes.len(), |op| op.at as usize);
        let end = self.ops.get(first + 1).map_or(self.bytes.len(), |next| next.at as usize);
        let Some(write) = self.bytes.get(start..end).and_then(BatchWrite::decode) else { return Ok(()) };
        if let Some(event) = value(last as usize, write)? {
            self.put_stamped(tree, &[], &event);
        }
        Ok(())
    }

    /// Takes the bytes out of a batch that has stamped entries, until its number is known.
    pub(crate) fn take_unstamped(&mut self) -> Option<Box<Unstamped>> {
        self.stamped.then(|| {
            let bytes = std::mem::take(&mut self.bytes);
            Box::new(Unstamped { len: bytes.len(), open: Mutex::new(bytes), finished: OnceLock::new() })
        })
    }
}

/// An operation of a batch on one key; see [`WriteBatch::stamp_each`].
///
/// ```
/// # use alluvium_store::{BatchWrite, TreeId};
/// let write = BatchWrite::Put { tree: TreeId(7), key: b"rex", value: b"dog" };
/// assert_eq!((write.tree(), write.key()), (TreeId(7), &b"rex"[..]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchWrite<'a> {
    /// The key gets a value.
    Put {
        /// The tree.
        tree: TreeId,
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// The key is removed.
    Delete {
        /// The tree.
        tree: TreeId,
        /// The key.
        key: &'a [u8],
    },
    /// The value of the key is changed.
    Delta {
        /// The tree.
        tree: TreeId,
        /// The key.
        key: &'a [u8],
        /// The delta.
        delta: &'a [u8],
    },
}

impl<'a> BatchWrite<'a> {
    /// The tree.
    pub fn tree(&self) -> TreeId {
        match *self {
            Self::Put { tree, .. } | Self::Delete { tree, .. } | Self::Delta { tree, .. } => tree,
        }
    }

    /// The key, without its tree.
    pub fn key(&self) -> &'a [u8] {
        match *self {
            Self::Put { key, .. } | Self::Delete { key, .. } | Self::Delta { key, .. } => key,
        }
    }

    fn decode(mut bytes: &'a [u8]) -> Option<Self> {
        let op = decode_op(&mut bytes, 0).ok()?;
        let (tree, key) = op.entry.key.split_first_chunk()?;
        let (tree, value) = (TreeId(u32::from_be_bytes(*tree)), op.entry.value);
        match op.entry.kind {
            _ if op.is_entry => None,
            Kind::Put => Some(Self::Put { tree, key, value }),
            Kind::Delete => Some(Self::Delete { tree, key }),
            Kind::Delta => Some(Self::Delta { tree, key, delta: value }),
            _ => None,
        }
    }
}

/// The bytes of a batch with stamped entries, which the commit leader finishes in place. Only then can they be read.
pub(crate) struct Unstamped {
    open: Mutex<Vec<u8>>,
    finished: OnceLock<Vec<u8>>,
    pub len: usize,
}

impl Unstamped {
    /// Fills in the numbers of the operations of `batch`, counted from `first`, and the time. Has an effect once.
    pub fn finish(&self, batch: &WriteBatch, first: Seq, time_ms: i64) {
        let finish = || {
            let mut bytes = std::mem::take(&mut *self.open.lock());
            let time = time_ms.max(0).cast_unsigned();
            let last = first + Seq::from(batch.numbers.saturating_sub(1));
            for op in batch.ops.iter().filter(|op| op.stamped) {
                fill_in(&mut bytes, op.at as usize, [first + Seq::from(op.number), last, time]);
            }
            bytes
        };
        self.finished.get_or_init(finish);
    }

    /// The finished bytes; empty before they are finished.
    pub fn bytes(&self) -> &[u8] {
        self.finished.get().map_or(&[], Vec::as_slice)
    }
}

/// Writes the parts of a stamp behind the tree in the key of the operation at `at`.
fn fill_in(bytes: &mut [u8], at: usize, stamp: [u64; STAMP_BYTES / size_of::<u64>()]) {
    let Some(mut rest) = bytes.get(at + 1..) else { return };
    let before = rest.len();
    // The partition, and the length of the key: `push_bytes` has written them.
    if varint::get_u64(&mut rest).and_then(|_| varint::get_u64(&mut rest)).is_err() {
        return;
    }
    let start = at + 1 + (before - rest.len()) + size_of::<u32>();
    if let Some(open) = bytes.get_mut(start..start + STAMP_BYTES) {
        open.chunks_exact_mut(size_of::<u64>()).zip(stamp).for_each(|(open, part)| {
            open.copy_from_slice(&part.to_be_bytes());
        });
    }
}

//! Scans: the keys of one tree in order, merged over the partitions.

use crate::error::{Error, Result};
use crate::marks;
use crate::partitions;
use crate::reads::Reads;
use crate::trees::{SYSTEM, TreeId};
use crate::visibility::Snapshot;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::Seq;
use alluvium_lsm::{Partition, PartitionIter};
use std::ops::Bound;

/// A value is long if it has this part of the memory budget.
const LONG_PART: usize = 32;

/// A running scan. Until it is dropped, it holds its snapshot, and thus the files that it reads.
pub struct Scan {
    tree: TreeId,
    iters: Vec<PartitionIter>,
    /// Indexes of the iterators in `iters` that are on an entry. The last one is the next to be returned.
    order: Vec<usize>,
    reverse: bool,
    started: bool,
    /// The error that ended the scan.
    failed: Option<Error>,
    /// The start of the scan. Forward: the first internal key of the range. Reverse: the first internal key above the
    /// range.
    from: Vec<u8>,
    /// The end of the scan. Forward: the first internal key above the range. Reverse: the first internal key of the
    /// range.
    stop: Vec<u8>,
    /// Of longer values only the next one is held. The others are read again when it is their turn.
    long_bytes: usize,
    snapshot: Snapshot,
}

/// The first internal key of the range, and the first internal key above it.
fn internal_range(tree: TreeId, bounds: &Bounds) -> (Vec<u8>, Vec<u8>) {
    let with = |key: &[u8], above: bool| {
        let tree = tree.0.to_be_bytes();
        let mut internal = Vec::with_capacity(tree.len() + key.len() + 1);
        internal.extend_from_slice(&tree);
        internal.extend_from_slice(key);
        if above {
            internal.push(0);
        }
        internal
    };
    let low = match &bounds.lower {
        Bound::Included(key) => with(key, false),
        Bound::Excluded(key) => with(key, true),
        Bound::Unbounded => with(&[], false),
    };
    let high = match &bounds.upper {
        Bound::Included(key) => with(key, true),
        Bound::Excluded(key) => with(key, false),
        Bound::Unbounded => match tree.0.checked_add(1) {
            Some(next) => next.to_be_bytes().to_vec(),
            None => vec![0xff; 5],
        },
    };
    (low, high)
}

/// The approximate number of keys of a range that are in a partition.
pub(crate) fn estimate(partition: &Partition, tree: TreeId, bounds: &Bounds) -> Result<u64> {
    let (low, high) = internal_range(tree, bounds);
    Ok(partition.view().estimate(&low, &high)?)
}

impl Scan {
    /// Creates a scan over all partitions, or over one.
    pub(crate) fn new(
        reads: &Reads,
        tree: TreeId,
        bounds: Bounds,
        snapshot: Snapshot,
        only: Option<u32>,
    ) -> Result<Self> {
        let views = partitions::views(&reads.partitions);
        // The check comes after the views are pinned: from then on, their data is kept without the snapshot.
        reads.check_readable(tree, &snapshot)?;
        let (low, high) = internal_range(tree, &bounds);
        let (lower, upper) = (Bound::Included(low.as_slice()), Bound::Excluded(high.as_slice()));
        let only = if tree == SYSTEM { Some(0) } else { only };
        let mut iters = Vec::with_capacity(views.len());
        for (at, (partition, view)) in reads.partitions.iter().zip(views).enumerate() {
            if only.is_none_or(|only| only as usize == at) {
                let view = snapshot.over(at, view);
                iters.push(partition.iter(view, snapshot.seq(), lower, upper));
            }
        }
        let reverse = bounds.reverse;
        let (from, stop) = if reverse { (high, low) } else { (low, high) };
        let (order, started, failed) = (Vec::new(), false, None);
        let long_bytes = reads.memory_bytes / LONG_PART;
        Ok(Self { tree, iters, order, reverse, started, failed, from, stop, long_bytes, snapshot })
    }

    /// Moves to the next key; `None` at the end of the range. The slices are valid until the next
    /// call.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # batch.put(pets, b"tom", b"cat");
    /// # store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(pets, Bounds::all(), None)?;
    /// assert_eq!(scan.next()?, Some((&b"rex"[..], &b"dog"[..])));
    /// assert_eq!(scan.next()?, Some((&b"tom"[..], &b"cat"[..])));
    /// assert_eq!(scan.next()?, None);
    /// # alluvium_store::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Storage`] for damage or an error of the operating system; [`crate::Error::SnapshotTooOld`] if
    /// the scan ran longer than a snapshot may live, or kept too much on disk. After an error the scan has released its
    /// files, and each further call returns the error again, because keys may have been skipped.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let check = |snapshot: &Snapshot| snapshot.check().inspect_err(|_| marks::READ_TOO_LATE.hit());
        // Checked before the move, so that no file is read in vain, and again after it. If the snapshot ended during
        // the move, keys of a dropped tree or under a range tombstone may have been skipped or may have reappeared.
        let moved = check(&self.snapshot).and_then(|()| if self.started { self.advance() } else { self.start() });
        if let Err(error) = check(&self.snapshot).and(moved) {
            self.order.clear();
            self.iters.clear();
            return Err(self.failed.insert(error).clone());
        }
        let Some(&at) = self.order.last() else { return Ok(None) };
        let iter = &self.iters[at];
        Ok(Some((iter.key().get(4..).unwrap_or(&[]), iter.value())))
    }

    /// The number of the last operation on the last returned key, deltas included; 0 before the first key and after the
    /// last.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # batch.put(pets, b"tom", b"cat");
    /// # let written = store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(pets, Bounds::all(), None)?;
    /// assert_eq!(scan.version(), 0);
    /// scan.next()?;
    /// assert!(scan.version() > 0 && scan.version() <= written);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn version(&self) -> Seq {
        self.order.last().map_or(0, |&at| self.iters[at].seq())
    }

    /// The number of the last full write of the last returned key: [`Scan::version`] without deltas.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # batch.put(pets, b"tom", b"cat");
    /// # store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(pets, Bounds::all(), None)?;
    /// scan.next()?;
    /// assert_eq!(scan.full_version(), scan.version()); // no delta followed it
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn full_version(&self) -> Seq {
        self.order.last().map_or(0, |&at| self.iters[at].full_seq())
    }

    /// The snapshot that the scan reads.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let scan = store.scan(pets, Bounds::all(), None)?;
    /// assert_eq!(scan.snapshot().seq(), store.visible());
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Restarts the scan within other bounds, in the same direction. The new bounds must be within the bounds that the
    /// scan was created with. A scan over several ranges is created once, over all of them. A failed scan stays failed.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # use std::ops::Bound;
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # batch.put(pets, b"tom", b"cat");
    /// # store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(pets, Bounds::all(), None)?;
    /// scan.next()?;
    /// scan.restart(&Bounds { lower: Bound::Included(b"t".to_vec()), ..Bounds::all() });
    /// assert_eq!(scan.next()?, Some((&b"tom"[..], &b"cat"[..])));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn restart(&mut self, bounds: &Bounds) {
        let (low, high) = internal_range(self.tree, bounds);
        (self.from, self.stop) = if self.reverse { (high, low) } else { (low, high) };
        self.started = false;
        self.order.clear();
    }

    /// Releases the blocks and entries that the scan holds, for a time without reads. The next call looks up the next
    /// key again.
    ///
    /// ```
    /// # use alluvium_store::{Bounds, Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// # let mut batch = store.batch();
    /// # batch.put(pets, b"rex", b"dog");
    /// # batch.put(pets, b"tom", b"cat");
    /// # store.write(batch, Durability::Periodic)?;
    /// let mut scan = store.scan(pets, Bounds::all(), None)?;
    /// assert_eq!(scan.next()?, Some((&b"rex"[..], &b"dog"[..])));
    /// scan.pause();
    /// assert_eq!(scan.next()?, Some((&b"tom"[..], &b"cat"[..])));
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn pause(&mut self) {
        // If the scan is at the end of the range, it stays there.
        if let Some(at) = self.order.pop() {
            self.from.clear();
            self.from.extend_from_slice(self.iters[at].key());
            if !self.reverse {
                self.from.push(0);
            }
            self.started = false;
        }
        self.order.clear();
        self.iters.iter_mut().for_each(PartitionIter::release);
    }

    fn start(&mut self) -> Result<()> {
        self.started = true;
        for at in 0..self.iters.len() {
            if self.reverse {
                self.iters[at].seek_before(&self.from)?;
            } else {
                self.iters[at].seek(&self.from)?;
            }
            self.enter(at);
            // This one waits, or the one that was next before it.
            if let [.., before, next] = self.order[..] {
                self.park(if next == at { before } else { at });
            }
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        let Some(at) = self.order.pop() else { return Ok(()) };
        if self.reverse {
            self.iters[at].prev()?;
        } else {
            self.iters[at].next()?;
        }
        self.enter(at);
        match self.order.last() {
            Some(&next) if next != at => {
                self.park(at);
                Ok(self.iters[next].wake()?)
            }
            _ => Ok(()),
        }
    }

    /// Releases the value of an iterator that is not the next one, if it is long.
    #[inline]
    fn park(&mut self, at: usize) {
        let iter = &mut self.iters[at];
        if iter.value().len() > self.long_bytes {
            marks::LONG_VALUE_RELEASED.hit();
            iter.park();
        }
    }

    /// Inserts an iterator into `order`, if it is on a key of the range.
    fn enter(&mut self, at: usize) {
        let iter = &self.iters[at];
        if !iter.valid() {
            return;
        }
        let key = iter.key();
        let inside = if self.reverse { key >= self.stop.as_slice() } else { key < self.stop.as_slice() };
        if !inside {
            return;
        }
        let place = self.order.partition_point(|&other| {
            let other = self.iters[other].key();
            if self.reverse { other < key } else { other > key }
        });
        self.order.insert(place, at);
    }
}

#[cfg(test)]
mod tests;

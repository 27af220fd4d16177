//! Builds the order of a collection that has none, because it became capped or may have lost entries.

use super::entries::{Position, Totals};
use crate::error::Result;
use crate::names::FullName;
use crate::read::{damaged_key, decode_copy};
use crate::state::CollectionState;
use crate::trees::{CAPPED_TOTALS, ORDER_PREFIX, POSITION_PREFIX, order_key, order_number};
use alluvium_document::Document;
use alluvium_env::sync::atomic::Ordering;
use alluvium_store::{Bounds, Durability, Scan, Store, TreeId, WriteBatch};
use std::ops::Bound;

/// The size at which a batch of entries is written.
const BATCH_BYTES: usize = 64 << 10;

/// Builds the order of a capped collection that has none. Documents keep the positions that they already have; each
/// other document gets the sequence number of its last full write. No other thread writes to the collection at the same
/// time, because all writers call this function first. The caller holds no lock. After a crash, the next write builds
/// the order.
pub(crate) fn ensure_ordered(store: &Store, state: &CollectionState, name: &FullName) -> Result<()> {
    ensure_ordered_unless(store, state, name, &|| Ok(()))
}

/// As [`ensure_ordered`], but stops when `check_stop` returns an error. A part of the order remains in that case.
pub(super) fn ensure_ordered_unless(
    store: &Store,
    state: &CollectionState,
    name: &FullName,
    check_stop: &dyn Fn() -> Result<()>,
) -> Result<()> {
    if state.is_ordered.load(Ordering::Acquire) {
        return Ok(());
    }
    let _one_at_a_time = state.ordering.lock();
    if state.order().is_none() {
        // The conversion was undone. The write that waited for it is refused, and starts over.
        return Ok(());
    }
    if Totals::read(store, state.system, name, None)?.is_none() {
        Making { store, state, name, check_stop, batch: store.batch() }.make()?;
    }
    state.is_ordered.store(true, Ordering::Release);
    Ok(())
}

/// Removes the order of a collection whose conversion was undone. Another writer may have completed the order in the
/// meantime.
pub(super) fn forget(store: &Store, state: &CollectionState) -> Result<()> {
    let _one_at_a_time = state.ordering.lock();
    if state.order().is_some() {
        return Ok(());
    }
    let mut batch = store.batch();
    for prefix in [ORDER_PREFIX, POSITION_PREFIX] {
        batch.delete_range(state.system, &[prefix], &[prefix + 1]);
    }
    batch.delete(state.system, CAPPED_TOTALS);
    store.write(batch, Durability::Bulk)?;
    state.is_ordered.store(false, Ordering::Release);
    Ok(())
}

/// The state of building an order.
struct Making<'a> {
    store: &'a Store,
    state: &'a CollectionState,
    name: &'a FullName,
    check_stop: &'a dyn Fn() -> Result<()>,
    batch: WriteBatch,
}

impl Making<'_> {
    fn make(mut self) -> Result<()> {
        self.number_documents()?;
        self.remove_positions()?;
        let totals = self.total()?;
        totals.put(self.state.system, &mut self.batch);
        self.write(0)
    }

    /// Gives a position to each document that has none.
    fn number_documents(&mut self) -> Result<()> {
        let mut scan = self.store.scan(self.state.documents, Bounds::all(), None)?;
        loop {
            (self.check_stop)()?;
            let Some((key, row)) = scan.next()? else { return Ok(()) };
            if self.has_position(key)? {
                continue;
            }
            let document = decode_copy(&self.state.shapes, self.name, key, row)?;
            let key = key.to_vec();
            self.put(&key, scan.full_version(), &document)?;
        }
    }

    /// True if a document has a number, and the order entry of that number names the document.
    fn has_position(&self, key: &[u8]) -> Result<bool> {
        let (system, mut owner) = (self.state.system, Vec::new());
        let Some(position) = Position::read(self.store, system, self.name, key, None)? else { return Ok(false) };
        Ok(self.store.get(system, &order_key(position.number), &mut owner)? && owner == key)
    }

    /// Gives a document a number, or the next free number if it is taken.
    fn put(&mut self, key: &[u8], mut number: u64, document: &Document) -> Result<()> {
        let bytes = document.bson_size().map_err(|error| damaged_key(self.name, key, &error))?;
        // A number is taken only after damage. Otherwise all used numbers are lower than the sequence numbers of
        // writes.
        let is_taken = self.is_taken(number, key)?;
        if is_taken {
            // The next number may have an entry in the batch, which is written first so that `is_taken` sees it.
            self.write(0)?;
        }
        while self.is_taken(number, key)? {
            number += 1;
        }
        Position { number, bytes: bytes as u64 }.put(self.state.system, key, &mut self.batch);
        self.batch.put(self.state.system, &order_key(number), key);
        self.write(if is_taken { 0 } else { BATCH_BYTES })
    }

    /// True if another document has a number.
    fn is_taken(&self, number: u64, key: &[u8]) -> Result<bool> {
        let mut owner = Vec::new();
        Ok(self.store.get(self.state.system, &order_key(number), &mut owner)? && owner != key)
    }

    /// Removes the positions of documents that do not exist.
    fn remove_positions(&mut self) -> Result<()> {
        let mut scan = self.entries(POSITION_PREFIX)?;
        while let Some((position, _)) = scan.next()? {
            (self.check_stop)()?;
            let key = position.get(1..).unwrap_or_default();
            if !self.store.contains(self.state.documents, key)? {
                self.batch.delete(self.state.system, position);
                self.write(BATCH_BYTES)?;
            }
        }
        self.write(0)
    }

    /// Removes the order entries of numbers that no document has, and computes the totals of the other entries.
    fn total(&mut self) -> Result<Totals> {
        let mut totals = Totals::default();
        let mut scan = self.entries(ORDER_PREFIX)?;
        while let Some((order, key)) = scan.next()? {
            (self.check_stop)()?;
            let Some(number) = order_number(order) else { continue };
            match Position::read(self.store, self.state.system, self.name, key, None)? {
                Some(position) if position.number == number => {
                    if totals.documents == 0 {
                        totals.oldest = number;
                    }
                    totals.documents += 1;
                    totals.bytes += position.bytes;
                }
                _ => {
                    self.batch.delete(self.state.system, order);
                    self.write(BATCH_BYTES)?;
                }
            }
            totals.next = number + 1;
        }
        Ok(totals)
    }

    /// Scans the entries with a prefix that are visible now.
    fn entries(&self, prefix: u8) -> Result<Scan> {
        let (lower, upper) = (Bound::Included(vec![prefix]), Bound::Excluded(vec![prefix + 1]));
        Ok(self.store.scan(self.state.system, Bounds { lower, upper, reverse: false }, None)?)
    }

    /// Writes the batch if it has at least this number of bytes.
    fn write(&mut self, bytes: usize) -> Result<()> {
        if self.batch.is_empty() || self.batch.encoded_bytes() < bytes {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.batch, self.store.batch());
        self.store.write(batch, Durability::Bulk)?;
        Ok(())
    }
}

/// True if a capped collection has its order.
pub(crate) fn has_order(store: &Store, system: TreeId, name: &FullName) -> Result<bool> {
    Ok(Totals::read(store, system, name, None)?.is_some())
}

/// Gives a document the position that it has in another database; `position` is the entry of that database.
/// [`ensure_ordered`] completes the order.
pub(crate) fn copy_position(batch: &mut WriteBatch, system: TreeId, document: &[u8], position: &[u8]) {
    if let Some(position) = Position::parse(position) {
        position.put(system, document, batch);
        batch.put(system, &order_key(position.number), document);
    }
}

/// Assigns numbers to the documents of a collection without an order, one by one.
pub(crate) struct Placement<'a>(Making<'a>);

impl<'a> Placement<'a> {
    /// Begins the order of a collection that no other thread uses.
    pub fn new(store: &'a Store, state: &'a CollectionState, name: &'a FullName) -> Self {
        Self(Making { store, state, name, check_stop: &|| Ok(()), batch: store.batch() })
    }

    /// Gives a document this number, or the next free one, unless the document has a number. Returns true if it had
    /// none.
    pub fn place(&mut self, key: &[u8], number: u64) -> Result<bool> {
        let making = &mut self.0;
        let mut row = Vec::new();
        if !making.store.get(making.state.documents, key, &mut row)? || making.has_position(key)? {
            return Ok(false);
        }
        let document = decode_copy(&making.state.shapes, making.name, key, &row)?;
        making.put(key, number, &document)?;
        Ok(true)
    }

    /// Writes the entries that are still in memory.
    pub fn finish(mut self) -> Result<()> {
        self.0.write(0)
    }
}

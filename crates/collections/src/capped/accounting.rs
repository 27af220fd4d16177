//! Gives the documents of a batch their positions, and deletes the oldest ones.

use super::entries::{Position, Totals};
use crate::error::{Error, Result};
use crate::limits::CappedLimits;
use crate::names::FullName;
use crate::read::{damaged_key, decode};
use crate::recorder::{Recorder, Target};
use crate::state::CollectionState;
use crate::trees::{CAPPED_TOTALS, ORDER_PREFIX, order_key, order_number, position_key};
use alluvium_store::{Bounds, Durability, LockMode, Store, WriteBatch};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The bytes that are reserved for the entries of a document and of one document that is deleted to make room, in
/// addition to the keys.
const ENTRY_BYTES: usize = 64;
/// The bytes that are reserved for deletes in a batch, in addition to [`ENTRY_BYTES`].
const MORE_BYTES: usize = 1 << 10;
/// The bytes of a batch that only deletes.
const TRIM_BYTES: usize = 64 << 10;
/// After this many consecutive numbers without a document, a scan finds the next number that has one.
const MISSES_MAX: u64 = 16;

/// The bytes that [`Accounting::add`] may add to a batch that writes the documents with these keys.
pub(crate) fn overhead_bytes<'k>(keys: impl Iterator<Item = &'k [u8]>) -> usize {
    MORE_BYTES + keys.map(|key| 4 * key.len() + 2 * ENTRY_BYTES).sum::<usize>()
}

/// A document whose position a batch may change.
struct Tracked {
    before: Option<Position>,
    now: Option<Position>,
}

/// The accounts of a write to a capped collection. The caller holds the lock of [`CAPPED_TOTALS`], and the collection
/// has an order.
pub(crate) struct Accounting<'a> {
    store: &'a Store,
    state: &'a CollectionState,
    name: &'a FullName,
    limits: CappedLimits,
    totals: Totals,
    tracked: BTreeMap<Vec<u8>, Tracked>,
    /// The documents that the batch adds.
    added: BTreeMap<u64, Vec<u8>>,
    /// The first number that the batch assigns to a document.
    first_added: u64,
}

impl<'a> Accounting<'a> {
    /// Reads the current totals of the collection.
    pub fn new(store: &'a Store, state: &'a CollectionState, name: &'a FullName, limits: CappedLimits) -> Result<Self> {
        let totals = Totals::read(store, state.system, name, None)?.unwrap_or_default();
        let (tracked, added) = Default::default();
        Ok(Self { store, state, name, limits, totals, tracked, added, first_added: totals.next })
    }

    /// Adds the entries of the order to a batch that writes documents, and deletes old documents if it adds some.
    /// Returns true if more documents have to be deleted afterwards ([`trim`]).
    pub fn add(mut self, batch: &mut WriteBatch) -> Result<bool> {
        let change =
            |(key, row): (&[u8], Option<&[u8]>)| Ok((key.to_vec(), row.map(|r| self.size(key, r)).transpose()?));
        let changes = batch.changes(self.state.documents).map(change).collect::<Result<Vec<_>>>()?;
        let room = overhead_bytes(changes.iter().map(|(key, _)| key.as_slice())) / 2;
        for (key, bytes) in changes {
            self.change(key, bytes)?;
        }
        let more = !self.added.is_empty() && self.delete_oldest(batch, room)?;
        self.put(batch);
        Ok(more)
    }

    fn size(&self, key: &[u8], row: &[u8]) -> Result<u64> {
        let document = decode(&self.state.shapes, self.name, key, row.to_vec())?;
        let bytes = document.bson_size().map_err(|error| damaged_key(self.name, key, &error))?;
        Ok(bytes as u64)
    }

    /// Notes that a document is put, with its size, or deleted.
    fn change(&mut self, key: Vec<u8>, bytes: Option<u64>) -> Result<()> {
        let known = match self.tracked.get(&key) {
            Some(tracked) => tracked.now,
            None => self.track(&key)?,
        };
        let now = match (known, bytes) {
            (Some(old), Some(bytes)) => Some(Position { bytes, ..old }),
            (None, Some(bytes)) => {
                let number = self.totals.next;
                self.totals.next += 1;
                self.added.insert(number, key.clone());
                Some(Position { number, bytes })
            }
            (_, None) => None,
        };
        self.move_to(&key, now);
        Ok(())
    }

    /// Reads the position of a document that the batch has not changed so far, and tracks it.
    fn track(&mut self, key: &[u8]) -> Result<Option<Position>> {
        let before = Position::read(self.store, self.state.system, self.name, key, None)?;
        self.tracked.insert(key.to_vec(), Tracked { before, now: before });
        Ok(before)
    }

    /// Gives a tracked document another position, or none.
    fn move_to(&mut self, key: &[u8], now: Option<Position>) {
        let Some(tracked) = self.tracked.get_mut(key) else { return };
        let before = std::mem::replace(&mut tracked.now, now);
        if let Some(before) = before {
            self.totals.documents = self.totals.documents.saturating_sub(1);
            self.totals.bytes = self.totals.bytes.saturating_sub(before.bytes);
            if now.is_none() {
                self.added.remove(&before.number);
            }
        }
        if let Some(now) = now {
            self.totals.documents += 1;
            self.totals.bytes += now.bytes;
        }
    }

    /// Deletes the oldest documents as long as the collection exceeds its limits, but not the newest one. Adds at most
    /// about `room` bytes, and returns true if that was not enough.
    fn delete_oldest(&mut self, batch: &mut WriteBatch, room: usize) -> Result<bool> {
        let mut used = 0;
        while self.totals.documents > 1 && self.limits.are_exceeded(self.totals.documents, self.totals.bytes) {
            if used >= room {
                return Ok(true);
            }
            let Some((number, key)) = self.oldest()? else { break };
            if !self.tracked.contains_key(&key) {
                self.track(&key)?;
            }
            self.move_to(&key, None);
            self.totals.oldest = number + 1;
            batch.delete(self.state.documents, &key);
            used += 2 * key.len() + ENTRY_BYTES;
        }
        Ok(false)
    }

    /// The oldest document, with its number.
    fn oldest(&self) -> Result<Option<(u64, Vec<u8>)>> {
        let (mut number, mut misses) = (self.totals.oldest, 0);
        let mut key = Vec::new();
        while number < self.first_added {
            key.clear();
            if self.store.get(self.state.system, &order_key(number), &mut key)? {
                let is_there = |tracked: &Tracked| tracked.now.is_some_and(|now| now.number == number);
                if self.tracked.get(&key).is_none_or(is_there) {
                    return Ok(Some((number, key)));
                }
            }
            misses += 1;
            number = if misses < MISSES_MAX { number + 1 } else { self.next_used(number + 1)? };
        }
        Ok(self.added.first_key_value().map(|(number, key)| (*number, key.clone())))
    }

    /// The first number at or above `from` that a document had before the batch; the first number of the batch if no
    /// document had one.
    fn next_used(&self, from: u64) -> Result<u64> {
        let lower = Bound::Included(order_key(from).to_vec());
        let bounds = Bounds { lower, upper: Bound::Excluded(vec![ORDER_PREFIX + 1]), reverse: false };
        let mut scan = self.store.scan(self.state.system, bounds, None)?;
        let found = scan.next()?.and_then(|(key, _)| order_number(key));
        Ok(found.unwrap_or(self.first_added))
    }

    /// Adds the changed entries to the batch.
    fn put(mut self, batch: &mut WriteBatch) {
        let system = self.state.system;
        for (key, Tracked { before, now }) in &self.tracked {
            let number = |position: &Option<Position>| position.map(|position| position.number);
            if let (Some(old), true) = (before, number(before) != number(now)) {
                batch.delete(system, &order_key(old.number));
            }
            match now {
                Some(new) if before != now => {
                    new.put(system, key, batch);
                    if number(before) != Some(new.number) {
                        batch.put(system, &order_key(new.number), key);
                    }
                }
                None if before.is_some() => batch.delete(system, &position_key(key)),
                _ => {}
            }
        }
        if self.totals.documents == 0 {
            self.totals.oldest = self.totals.next;
        }
        self.totals.put(system, batch);
    }
}

/// Deletes the oldest documents of a collection in batches of their own, until it is within its limits. The caller
/// holds no locks.
pub(crate) fn trim(store: &Store, state: &Arc<CollectionState>, name: &FullName, durability: Durability) -> Result<()> {
    loop {
        let set = state.indexes();
        let Some(limits) = set.options.order() else { return Ok(()) };
        let admitted = store.admit(2 * TRIM_BYTES)?;
        let locks = store.lock(state.system, [CAPPED_TOTALS], LockMode::Exclusive);
        let mut batch = store.batch();
        batch.expect_schema(state.documents, set.schema);
        let written = Accounting::new(store, state, name, limits).and_then(|mut accounts| {
            let more = accounts.delete_oldest(&mut batch, TRIM_BYTES)?;
            if !batch.is_empty() {
                accounts.put(&mut batch);
                let history = set.recording.as_ref().map(|recording| recording.tree);
                Recorder::default().record(store, None, &mut batch, &[Target { name, state, history }])?;
                store.write_locked(batch, durability, &locks)?;
                set.recording.iter().for_each(|recording| recording.writes.note());
            }
            Ok(more)
        });
        drop((locks, admitted));
        match written {
            Ok(true) => {}
            // The limits or an index were changed: try again. After a change with an unknown outcome the retries would
            // never end, so a poisoned database returns its error.
            Err(Error::Store(alluvium_store::Error::SchemaChanged(_))) => store.check_writable()?,
            Ok(false) | Err(Error::Store(alluvium_store::Error::NoSuchTree(_))) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

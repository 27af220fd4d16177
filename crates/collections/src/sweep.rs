//! Sweeps: remove stale index entries from the files.
//!
//! The documents are the evidence (`docs/decisions/0034-evidence-is-the-documents.md`). At a
//! snapshot `V` a sweep collects the sequence numbers of the last full writes of a partition's
//! documents. An entry with number `e`, not above `V`, may be removed:
//!
//! - if the last full write of its document at `V` has a number `n` above `e`, and no live snapshot is in `e..n`. A
//!   full write writes all entries of its document. So if the document still yields this entry, the entry also exists
//!   with number `n` or a higher one;
//! - if its document does not exist at `V`, and no live snapshot is in `e..V`.
//!
//! Deltas and the notes of checked updates are never evidence, because these writes delete exactly the entries that the
//! document no longer yields.

use crate::engine::{Engine, EngineHandle};
use crate::error::{Error, Result};
use crate::gathering::gather_bytes;
use crate::index::Index;
use crate::marks;
use crate::names::FullName;
use crate::state::CollectionState;
use alluvium_store::{Bounds, Seq};
use due::is_due;
use hashbrown::HashMap;
use std::cell::Cell;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Approximate memory per document in [`FullWrites`], in bytes.
const NUMBER_BYTES: usize = 32;

/// The sequence numbers of the last full writes of the documents in a range of keys.
struct FullWrites {
    /// The numbers, by the hash of the document's key. If keys share a hash, the lowest number.
    full: HashMap<u64, Seq>,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    visible: Seq,
    /// The live snapshots, in ascending order.
    live: Vec<Seq>,
    /// The oldest snapshot that prevents the removal of an entry.
    withheld_by: Cell<Option<Seq>>,
}

impl FullWrites {
    fn covers(&self, id: &[u8]) -> bool {
        let above = match &self.from {
            Bound::Excluded(from) => id > from.as_slice(),
            _ => true,
        };
        let below = match &self.to {
            Bound::Included(to) => id <= to.as_slice(),
            _ => true,
        };
        above && below
    }

    /// True if a live snapshot is in `from..to`. Such a snapshot sees the write `from`, but not the write `to`.
    fn is_snapshot_in(&self, from: Seq, to: Seq) -> bool {
        let at = self.live.partition_point(|&snapshot| snapshot < from);
        let sees = self.live.get(at).copied().filter(|&snapshot| snapshot < to);
        if let Some(seq) = sees {
            self.withheld_by.set(older(self.withheld_by.get(), Some(seq)));
        }
        sees.is_some()
    }

    fn may_remove(&self, index: &Index, entry: &[u8], seq: Seq) -> bool {
        let Ok(len) = index.definition.key_len(entry) else { return false };
        let id = &entry[len..];
        if seq > self.visible || !self.covers(id) {
            return false;
        }
        match self.full.get(&alluvium_codec::hash64(id)) {
            Some(&full) => full > seq && !self.is_snapshot_in(seq, full),
            None => !self.is_snapshot_in(seq, self.visible),
        }
    }
}

/// The older of two snapshots.
fn older(one: Option<Seq>, other: Option<Seq>) -> Option<Seq> {
    one.into_iter().chain(other).min()
}

/// Returns true if the sweep shall stop.
type Stopping<'a> = &'a dyn Fn() -> bool;

/// The number of documents visited between two checks for a request to stop.
const STOP_EVERY: usize = 4096;

/// Sweeps the ready indexes of a collection. Returns the count of entries removed from files, and
/// the oldest snapshot that prevented a removal.
fn sweep(engine: &Engine, name: &FullName, stopping: Stopping<'_>) -> Result<(u64, Option<Seq>)> {
    let store = engine.store();
    let Some(state) = engine.catalog.find(name)? else { return Ok((0, None)) };
    let ready: Vec<Arc<Index>> =
        state.indexes().indexes.iter().filter(|index| index.ready.is_some()).cloned().collect();
    let (mut removed, mut withheld_by) = (0, None);
    for partition in 0..store.partitions() {
        if ready.is_empty() || stopping() {
            break;
        }
        match sweep_partition(engine, &state, &ready, partition, stopping) {
            Ok((from_here, by)) => (removed, withheld_by) = (removed + from_here, older(withheld_by, by)),
            // Dropped concurrently.
            Err(Error::Store(alluvium_store::Error::NoSuchTree(_))) => break,
            Err(error) => return Err(error),
        }
    }
    Ok((removed, withheld_by))
}

fn sweep_partition(
    engine: &Engine,
    state: &CollectionState,
    ready: &[Arc<Index>],
    partition: u32,
    stopping: Stopping<'_>,
) -> Result<(u64, Option<Seq>)> {
    let store = engine.store();
    let bytes = gather_bytes(store);
    let check = || if stopping() { Err(Error::Stopped) } else { Ok(()) };
    let Ok(_place) = engine.gathering.enter(store, bytes, check) else { return Ok((0, None)) };
    let mut from = Bound::Unbounded;
    let (mut dropped, mut withheld_by) = (0, None);
    loop {
        let writes = gather(engine, state, partition, from, bytes / NUMBER_BYTES, stopping)?;
        for index in ready {
            let may_remove = |entry: &[u8], seq: Seq| writes.may_remove(index, entry, seq);
            match store.sweep(index.tree, partition, writes.visible, &may_remove, stopping) {
                Ok(removed) => {
                    if removed > 0 {
                        marks::ENTRIES_SWEPT.hit();
                    }
                    dropped += removed;
                }
                Err(alluvium_store::Error::NoSuchTree(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        withheld_by = older(withheld_by, writes.withheld_by.get());
        match writes.to {
            Bound::Included(to) if !stopping() => from = Bound::Excluded(to),
            _ => return Ok((dropped, withheld_by)),
        }
    }
}

/// Collects the sequence numbers of the next `count` documents of a partition, or of fewer documents if the sweep shall
/// stop.
fn gather(
    engine: &Engine,
    state: &CollectionState,
    partition: u32,
    from: Bound<Vec<u8>>,
    count: usize,
    stopping: Stopping<'_>,
) -> Result<FullWrites> {
    let store = engine.store();
    let snapshot = store.snapshot();
    let bounds = Bounds { lower: from.clone(), upper: Bound::Unbounded, reverse: false };
    let mut scan = store.scan_partition(state.documents, partition, bounds, &snapshot)?;
    let mut full: HashMap<u64, Seq> = HashMap::new();
    let mut to = Bound::Unbounded;
    while let Some((key, _)) = scan.next()? {
        let ends = full.len() + 1 >= count || (full.len() % STOP_EVERY == STOP_EVERY - 1 && stopping());
        let (hash, last) = (alluvium_codec::hash64(key), ends.then(|| key.to_vec()));
        let number = scan.full_version();
        full.entry(hash).and_modify(|known| *known = number.min(*known)).or_insert(number);
        if let Some(last) = last {
            to = Bound::Included(last);
            break;
        }
    }
    // The list is read while the snapshot is held. Every snapshot that is taken later is at the same sequence number or
    // a higher one.
    let live = store.live_snapshots();
    Ok(FullWrites { full, from, to, visible: snapshot.seq(), live, withheld_by: Cell::new(None) })
}

/// Sweeps the collections in which an index has at least a quarter more entries than the documents yield. Returns the
/// count of removed entries, or the first error. After an error, the remaining collections are still swept.
pub(crate) fn sweep_where_due(engine: &EngineHandle) -> Result<u64> {
    let stopping = || engine.tasks.stopping();
    sweep_each(engine, |name| {
        if !is_due(engine, name)? {
            return Ok(0);
        }
        let (removed, withheld_by) = sweep(engine, name, &stopping)?;
        if !stopping() {
            record_swept(engine, name, withheld_by)?;
        }
        Ok(removed)
    })
}

fn sweep_each(engine: &Engine, sweep: impl Fn(&FullName) -> Result<u64>) -> Result<u64> {
    let (mut removed, mut first) = (0, Ok(()));
    for name in collections(engine) {
        match sweep(&name) {
            Ok(here) => removed += here,
            // Dropped concurrently.
            Err(Error::Store(alluvium_store::Error::NoSuchTree(_))) => {}
            Err(error) => first = first.and(Err(error)),
        }
    }
    first.map(|()| removed)
}

fn collections(engine: &Engine) -> Vec<FullName> {
    let mut names: Vec<FullName> = engine.catalog.ready_indexes().into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names
}

/// Records the number of entries per document after a sweep.
fn record_swept(engine: &Engine, name: &FullName, withheld_by: Option<Seq>) -> Result<()> {
    let store = engine.store();
    let Some(state) = engine.catalog.find(name)? else { return Ok(()) };
    let documents = store.tree_stats(state.documents)?.keys.max(1) as f64;
    for index in state.indexes().indexes.iter().filter(|index| index.ready.is_some()) {
        index.swept.record(store.tree_stats(index.tree)?.keys as f64 / documents, withheld_by);
    }
    Ok(())
}

/// Sweeps all indexes until `stop` is set. Returns the count of entries removed.
///
/// # Errors
/// The first error; the other collections are swept.
pub fn sweep_all(engine: &Engine, stop: &AtomicBool) -> Result<u64> {
    let stopping = || stop.load(Ordering::Relaxed) || engine.tasks.stopping();
    sweep_each(engine, |name| Ok(sweep(engine, name, &stopping)?.0))
}

mod due;

#[cfg(test)]
mod tests;

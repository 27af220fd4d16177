//! Sweeps: stale entries leave the files.
//!
//! Evidence is the documents themselves (`docs/decisions/0034-evidence-is-the-documents.md`). At a snapshot `V` the numbers
//! of the last full writes of a partition's documents are gathered. An entry under number `e`, not above `V`, may go:
//!
//! - if its document's last full write at `V` has a number `n` above `e`, and no live snapshot lies from `e` to below `n`:
//!   a full write writes all entries of its document, so this one, if it is still yielded, is there again under `n` or
//!   a later number;
//! - if there is no such document at `V`, and no live snapshot lies from `e` to below `V`.
//!
//! Deltas and the notes of checked updates are never evidence: those have deleted exactly what went.

use super::{Index, gather_bytes};
use crate::catalog::Open;
use crate::marks;
use crate::names::FullName;
use crate::{Database, Result};
use alluvium_store::{Bounds, Seq};
use due::is_due;
use hashbrown::HashMap;
use std::cell::Cell;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The bytes that a document takes among the numbers, about.
const NUMBER_BYTES: usize = 32;

/// What sweeps have found of an index since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// The bits of a double: how many entries there are to a document when none is stale, as far as it is known; 0 if it is not.
    keys_per_document: AtomicU64,
    /// The same, with what the last sweep had to leave.
    left_per_document: AtomicU64,
    /// One more than the snapshot for which it left that, or 0.
    withheld_by: AtomicU64,
}

impl Swept {
    fn note(&self, per_document: f64, withheld_by: Option<Seq>) {
        let bits = per_document.max(f64::MIN_POSITIVE).to_bits();
        self.left_per_document.store(bits, Ordering::Relaxed);
        self.withheld_by.store(withheld_by.map_or(0, |seq| seq + 1), Ordering::Relaxed);
        if withheld_by.is_none() {
            self.keys_per_document.store(bits, Ordering::Relaxed);
        }
    }

    /// Takes note of how many there are when none is stale, as a sample tells. What a snapshot withholds is withheld still.
    fn note_live(&self, per_document: f64) {
        self.keys_per_document.store(per_document.max(f64::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }

    /// How many entries to a document a sweep would leave now, as far as the last one tells. `oldest` is the oldest snapshot.
    fn expected(&self, oldest: Option<Seq>) -> Option<f64> {
        let withheld_by = self.withheld_by.load(Ordering::Relaxed);
        let still = withheld_by > 0 && oldest.is_some_and(|oldest| oldest < withheld_by);
        let known = if still { &self.left_per_document } else { &self.keys_per_document };
        Some(f64::from_bits(known.load(Ordering::Relaxed))).filter(|known| *known > 0.0)
    }
}

/// The numbers of the last full writes of documents with keys in a range, by the hashes of the keys.
struct Numbers {
    /// Of documents with one hash the lowest.
    full: HashMap<u64, Seq>,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    visible: Seq,
    /// Ascending.
    live: Vec<Seq>,
    /// The oldest snapshot that sees an entry which could go without it.
    withheld_by: Cell<Option<Seq>>,
}

impl Numbers {
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

    /// True if a live snapshot sees what was written under `from`, and not what was under `to`.
    fn between(&self, from: Seq, to: Seq) -> bool {
        let at = self.live.partition_point(|&snapshot| snapshot < from);
        let sees = self.live.get(at).copied().filter(|&snapshot| snapshot < to);
        if let Some(seq) = sees {
            self.withheld_by.set(older(self.withheld_by.get(), Some(seq)));
        }
        sees.is_some()
    }

    fn may_go(&self, index: &Index, entry: &[u8], seq: Seq) -> bool {
        let Ok(len) = index.definition.key_len(entry) else { return false };
        let id = &entry[len..];
        if seq > self.visible || !self.covers(id) {
            return false;
        }
        match self.full.get(&alluvium_codec::hash64(id)) {
            Some(&full) => full > seq && !self.between(seq, full),
            None => !self.between(seq, self.visible),
        }
    }
}

/// The older of two snapshots.
fn older(one: Option<Seq>, other: Option<Seq>) -> Option<Seq> {
    one.into_iter().chain(other).min()
}

/// Says that a sweep is to end where it stands.
type Stopping<'a> = &'a dyn Fn() -> bool;

/// So many documents are gone over before somebody who wants to stop is heard.
const STOP_EVERY: usize = 4096;

/// Sweeps the indexes of a collection that are ready. Returns how many entries are gone from files, and the oldest snapshot for
/// which some had to stay.
fn sweep(db: &Database, name: &FullName, stopping: Stopping<'_>) -> Result<(u64, Option<Seq>)> {
    let store = &db.inner.store;
    let Some(open) = db.inner.catalog.find(store, name)? else { return Ok((0, None)) };
    let ready: Vec<Arc<Index>> = open.indexes().indexes.iter().filter(|index| index.ready.is_some()).cloned().collect();
    let (mut gone, mut withheld_by) = (0, None);
    for partition in 0..store.partitions() {
        if ready.is_empty() || stopping() {
            break;
        }
        match sweep_partition(db, &open, &ready, partition, stopping) {
            Ok((from_here, by)) => (gone, withheld_by) = (gone + from_here, older(withheld_by, by)),
            // Dropped meanwhile.
            Err(crate::Error::Store(alluvium_store::Error::NoSuchTree(_))) => break,
            Err(error) => return Err(error),
        }
    }
    Ok((gone, withheld_by))
}

fn sweep_partition(
    db: &Database,
    open: &Open,
    ready: &[Arc<Index>],
    partition: u32,
    stopping: Stopping<'_>,
) -> Result<(u64, Option<Seq>)> {
    let store = &db.inner.store;
    let bytes = gather_bytes(store);
    let check = || if stopping() { Err(crate::Error::Stopped) } else { Ok(()) };
    let Ok(_place) = db.inner.gathering.enter(store, bytes, check) else { return Ok((0, None)) };
    let mut from = Bound::Unbounded;
    let (mut dropped, mut withheld_by) = (0, None);
    loop {
        let numbers = gather(db, open, partition, from, bytes / NUMBER_BYTES, stopping)?;
        for index in ready {
            let may_go = |entry: &[u8], seq: Seq| numbers.may_go(index, entry, seq);
            match store.sweep(index.tree, partition, numbers.visible, &may_go, stopping) {
                Ok(gone) => {
                    if gone > 0 {
                        marks::ENTRIES_SWEPT.hit();
                    }
                    dropped += gone;
                }
                Err(alluvium_store::Error::NoSuchTree(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        withheld_by = older(withheld_by, numbers.withheld_by.get());
        match numbers.to {
            Bound::Included(to) if !stopping() => from = Bound::Excluded(to),
            _ => return Ok((dropped, withheld_by)),
        }
    }
}

/// The numbers of the next `count` documents of a partition, or of fewer, if it is to stop.
fn gather(
    db: &Database,
    open: &Open,
    partition: u32,
    from: Bound<Vec<u8>>,
    count: usize,
    stopping: Stopping<'_>,
) -> Result<Numbers> {
    let store = &db.inner.store;
    let snapshot = store.snapshot();
    let bounds = Bounds { lower: from.clone(), upper: Bound::Unbounded, reverse: false };
    let mut scan = store.scan_partition(open.documents, partition, bounds, &snapshot)?;
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
    // While the snapshot is held: what begins to live later does so at it or above.
    let live = store.live_snapshots();
    Ok(Numbers { full, from, to, visible: snapshot.seq(), live, withheld_by: Cell::new(None) })
}

/// Sweeps the indexes of collections where one holds a quarter more entries than its documents yield. How many are gone.
/// A collection where that fails keeps the others from nothing; the first error is told.
pub(crate) fn sweep_where_due(db: &Database) -> Result<u64> {
    let stopping = || db.inner.tasks.stopping();
    sweep_each(db, |name| {
        if !is_due(db, name)? {
            return Ok(0);
        }
        let (gone, withheld_by) = sweep(db, name, &stopping)?;
        if !stopping() {
            note_swept(db, name, withheld_by)?;
        }
        Ok(gone)
    })
}

fn sweep_each(db: &Database, sweep: impl Fn(&FullName) -> Result<u64>) -> Result<u64> {
    let (mut gone, mut first) = (0, Ok(()));
    for name in collections(db) {
        match sweep(&name) {
            Ok(here) => gone += here,
            // Dropped meanwhile.
            Err(crate::Error::Store(alluvium_store::Error::NoSuchTree(_))) => {}
            Err(error) => first = first.and(Err(error)),
        }
    }
    first.map(|()| gone)
}

fn collections(db: &Database) -> Vec<FullName> {
    let mut names: Vec<FullName> = db.inner.catalog.ready_indexes().into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names
}

/// Takes note of how many entries there are to a document, after a sweep.
fn note_swept(db: &Database, name: &FullName, withheld_by: Option<Seq>) -> Result<()> {
    let store = &db.inner.store;
    let Some(open) = db.inner.catalog.find(store, name)? else { return Ok(()) };
    let documents = store.tree_stats(open.documents)?.keys.max(1) as f64;
    for index in open.indexes().indexes.iter().filter(|index| index.ready.is_some()) {
        index.swept.note(store.tree_stats(index.tree)?.keys as f64 / documents, withheld_by);
    }
    Ok(())
}

impl Database {
    /// Removes stale entries of all indexes from the files: entries of documents that were replaced or deleted without being
    /// read. Reads pass over them in any case; this gives their space back. A database does it by itself where they
    /// are many, and [`Database::compact`] does it too. Returns how many are gone.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"age": 1}"#)?;
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// pets.put("rex", r#"{"age": 4}"#)?; // Reads nothing, so the entry of 3 stays.
    /// db.flush()?;
    /// assert_eq!(db.sweep_indexes()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`].
    pub fn sweep_indexes(&self) -> Result<u64> {
        self.sweep_indexes_unless(&AtomicBool::new(false))
    }

    /// As [`Database::sweep_indexes`], until `stop` is set.
    pub(crate) fn sweep_indexes_unless(&self, stop: &AtomicBool) -> Result<u64> {
        let stopping = || stop.load(Ordering::Relaxed) || self.inner.tasks.stopping();
        sweep_each(self, |name| Ok(sweep(self, name, &stopping)?.0))
    }
}

mod due;

#[cfg(test)]
mod tests;

//! The number of documents of a collection, counted once and then kept up by the writes.
//!
//! Nothing is kept until the number is requested for the first time: then a scan counts, and each later write adds its
//! change. A write that has read its documents, or has checked that they do not exist, knows. A blind put or delete
//! does not: its documents are counted as uncertain, and when they are too many, a scan counts again.
//! `docs/decisions/0095-counts-of-documents.md` has the reasons.

use crate::error::Result;
use crate::limits::Limits;
use alluvium_env::Env;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_exec::Watch;
use alluvium_store::{Bounds, Snapshot, Store, TreeId};
use std::time::Duration;

/// A collection with more documents than this, by the estimate from its files, is not counted whole: enough of its
/// partitions are.
const COUNTED_MAX: u64 = 4_000_000;
/// The least number of documents that are counted before the total is extrapolated from the counted partitions. A
/// document's partition is random, so the total is within a percent.
const SAMPLE: u64 = 1_000_000;
/// A collection with uncertain documents is counted again if it has at most this number.
const RECOUNTED_MAX: u64 = 100_000;
/// A larger one is counted again once one in this many of its documents is uncertain.
const UNCERTAIN_SHARE: u64 = 200;
/// How often a thread that waits for the count of another one looks at its limits.
const LOOK: Duration = Duration::from_millis(10);

/// The number of documents of one collection.
#[derive(Default)]
pub(crate) struct DocumentCount {
    /// True once the number was requested: writes note what they change.
    is_kept: AtomicBool,
    state: Mutex<State>,
    /// A count has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// A thread counts.
    is_counting: bool,
    known: Option<Known>,
    /// The changes by writes since the snapshot that is being counted.
    counted: Option<Known>,
}

/// The number of documents after all writes that were noted.
#[derive(Clone, Copy)]
struct Known {
    /// The number includes all writes up to this sequence number, and those that were noted.
    since: u64,
    documents: i64,
    /// Documents that blind writes may have added or removed.
    uncertain: u64,
}

/// How a batch changes the number of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// Documents that it adds, without those that it removes.
    pub added: i64,
    /// Documents that it may add or remove.
    pub uncertain: u64,
}

impl DocumentCount {
    /// True if writes have to note what they change.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::SeqCst)
    }

    /// Notes a batch that is visible, with the number of its last operation.
    pub fn note(&self, number: u64, change: Change) {
        let State { known, counted, .. } = &mut *self.state.lock();
        for known in [known, counted].into_iter().flatten().filter(|known| known.since < number) {
            known.documents += change.added;
            known.uncertain += change.uncertain;
        }
    }

    /// The number of documents: exact unless documents are uncertain, and then within a percent.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`] and [`crate::error::Error::MaxTimeExpired`] by the limits, whose time has been
    /// started; errors of reading the store.
    pub fn get(&self, store: &Store, documents: TreeId, env: &Env, limits: &Limits) -> Result<u64> {
        let mut state = self.state.lock();
        loop {
            if let Some(known) = state.certain() {
                return Ok(known);
            }
            if !state.is_counting {
                break;
            }
            limits.check(env)?;
            self.ended.wait_for(&mut state, LOOK);
        }
        // From here on, a write that is not in the snapshot finds this set when it is visible.
        self.is_kept.store(true, Ordering::SeqCst);
        let snapshot = store.snapshot();
        state.is_counting = true;
        state.counted = Some(Known { since: snapshot.seq(), documents: 0, uncertain: 0 });
        drop(state);
        let counting = Counting(self);
        let counted = count(store, documents, &snapshot, env, limits)?;
        Ok(counting.end(counted))
    }
}

/// The turn of the thread that counts.
struct Counting<'a>(&'a DocumentCount);

impl Counting<'_> {
    /// The number of documents, from that at the snapshot.
    fn end(self, counted: u64) -> u64 {
        let mut state = self.0.state.lock();
        let since = state.counted.take();
        let known = since.map(|since| Known { documents: since.documents + counted.cast_signed(), ..since });
        state.known = known;
        known.map_or(counted, |known| known.documents.max(0).cast_unsigned())
    }
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        (state.is_counting, state.counted) = (false, None);
        drop(state);
        self.0.ended.notify_all();
    }
}

impl State {
    /// The known number, if it is certain enough.
    fn certain(&self) -> Option<u64> {
        let known = self.known?;
        let documents = known.documents.max(0).cast_unsigned();
        let is_near = documents > RECOUNTED_MAX && known.uncertain <= documents / UNCERTAIN_SHARE;
        (known.uncertain == 0 || is_near).then_some(documents)
    }
}

/// Counts the documents at a snapshot; of very many, those of some partitions.
fn count(store: &Store, documents: TreeId, snapshot: &Snapshot, env: &Env, limits: &Limits) -> Result<u64> {
    let mut watch = Watch::new(limits.clone());
    let partitions = store.partitions();
    let counts_all = store.tree_stats(documents)?.keys <= COUNTED_MAX;
    let mut found = 0;
    for partition in 0..partitions {
        let mut scan = store.scan_partition(documents, partition, Bounds::all(), snapshot)?;
        while scan.next()?.is_some() {
            watch.tick(env)?;
            found += 1;
        }
        if !counts_all && found >= SAMPLE {
            let share = f64::from(partition + 1) / f64::from(partitions);
            return Ok((found as f64 / share).round() as u64);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;

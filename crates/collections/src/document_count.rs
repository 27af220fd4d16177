//! The number of documents of a collection: counted once, and then updated by each write.
//!
//! The number is not kept until it is requested for the first time. Then a scan counts the documents, and each later
//! write adds its change. A write that has read its documents, or has checked that they do not exist, knows its change.
//! A blind put or delete does not: its documents are counted as uncertain, and when too many are uncertain, a scan
//! counts again. `docs/decisions/0095-counts-of-documents.md` has the reasons.

use crate::error::Result;
use crate::limits::Limits;
use alluvium_env::Env;
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_exec::Watch;
use alluvium_store::{Bounds, Snapshot, Store, TreeId};
use std::time::Duration;

/// If a collection has more documents than this, by the estimate from its files, only some of its partitions are
/// counted.
const COUNTED_MAX: u64 = 4_000_000;
/// The minimum number of documents that are counted before the total is extrapolated from the counted partitions. The
/// partition of a document is random, so the total is within a percent.
const SAMPLE: u64 = 1_000_000;
/// A collection with at most this number of documents is counted again as soon as one is uncertain.
const RECOUNTED_MAX: u64 = 100_000;
/// A larger collection is counted again when one in this many of its documents is uncertain.
const UNCERTAIN_SHARE: u64 = 200;
/// The interval at which a thread that waits for the count of another thread checks its limits.
const LOOK: Duration = Duration::from_millis(10);

/// The number of documents of one collection.
#[derive(Default)]
pub(crate) struct DocumentCount {
    /// True after the first request of the number. Then each write notes its change.
    is_kept: AtomicBool,
    state: Mutex<State>,
    /// Notified when a count has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// True while a thread counts.
    is_counting: bool,
    known: Option<Known>,
    /// The changes by writes since the snapshot that is being counted.
    counted: Option<Known>,
}

/// A number of documents, and the writes that it includes.
#[derive(Clone, Copy)]
struct Known {
    /// The number includes all writes up to this sequence number, and all later writes that were noted.
    since: u64,
    documents: i64,
    /// The number of documents that blind writes may have added or removed.
    uncertain: u64,
}

/// How a batch changes the number of documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// The number of documents that it adds, minus those that it removes.
    pub added: i64,
    /// The number of documents that it may add or remove.
    pub uncertain: u64,
}

impl DocumentCount {
    /// True if writes have to note their changes.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::SeqCst)
    }

    /// Notes a batch that is visible. `number` is the sequence number of its last operation.
    pub fn note(&self, number: u64, change: Change) {
        let State { known, counted, .. } = &mut *self.state.lock();
        for known in [known, counted].into_iter().flatten().filter(|known| known.since < number) {
            known.documents += change.added;
            known.uncertain += change.uncertain;
        }
    }

    /// The number of documents: exact, or within a percent if documents are uncertain.
    ///
    /// # Errors
    /// [`crate::error::Error::Stopped`] and [`crate::error::Error::MaxTimeExpired`] by the limits, whose time is
    /// already running; errors of reading the store.
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
        // From here on, each write that is not in the snapshot sees this flag when the write becomes visible.
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

/// A count in progress. Dropping it lets another thread count.
struct Counting<'a>(&'a DocumentCount);

impl Counting<'_> {
    /// Ends the count. Returns the current number of documents, from the number `counted` at the snapshot.
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

/// Counts the documents at a snapshot. If they are very many, counts some partitions and extrapolates.
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

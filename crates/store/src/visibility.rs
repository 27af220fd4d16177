//! Which writes may be seen: the *visible* number, the batches on their way to it, and the
//! snapshots that stand below it.
//!
//! One lock covers all three, so whoever drops old versions sees a list of snapshots and a
//! visible number of one moment (DESIGN 4.7). Lock order: this lock is a leaf.

use crate::error::{Error, Result};
use crate::marks;
use alluvium_codec::entry::Seq;
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex, spin_until};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The state of what is visible.
pub(crate) struct Visibility {
    inner: Mutex<Inner>,
    /// A copy of `inner.visible`, for readers that need no snapshot.
    visible: AtomicU64,
    moved: Condvar,
    clock: Arc<dyn Clock>,
    max_age: Duration,
    closed: AtomicBool,
}

struct Inner {
    visible: Seq,
    /// Numbered batches that are not visible yet, in number order.
    pending: VecDeque<Pending>,
    /// The ticket of the front of `pending`.
    first_ticket: u64,
    snapshots: BTreeMap<(Seq, u64), Registered>,
    next_snapshot: u64,
    failed: Option<Error>,
}

struct Pending {
    last: Seq,
    applied: bool,
}

struct Registered {
    taken: Duration,
    ended: Arc<AtomicBool>,
}

/// The place of a numbered batch in the order of visibility.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ticket(u64);

impl Visibility {
    pub fn new(visible: Seq, clock: Arc<dyn Clock>, max_age: Duration) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                visible,
                pending: VecDeque::new(),
                first_ticket: 0,
                snapshots: BTreeMap::new(),
                next_snapshot: 0,
                failed: None,
            }),
            visible: AtomicU64::new(visible),
            moved: Condvar::new(),
            clock,
            max_age,
            closed: AtomicBool::new(false),
        })
    }

    /// The end of the last batch that is visible together with all before it.
    #[inline]
    pub fn visible(&self) -> Seq {
        self.visible.load(Ordering::Acquire)
    }

    /// Sets the number found by recovery, before anybody else looks.
    pub fn recovered(&self, visible: Seq) {
        self.inner.lock().visible = visible;
        self.visible.store(visible, Ordering::Release);
    }

    /// Enters a batch that ends at `last`. Called by the commit leader, in number order.
    pub fn enter(&self, last: Seq) -> Ticket {
        let mut inner = self.inner.lock();
        inner.pending.push_back(Pending { last, applied: false });
        Ticket(inner.first_ticket + inner.pending.len() as u64 - 1)
    }

    /// Says that the batch is in the memtables, and waits until it is visible.
    pub fn applied(&self, ticket: Ticket) -> Result<()> {
        let mut inner = self.inner.lock();
        let at = (ticket.0 - inner.first_ticket) as usize;
        let last = match inner.pending.get_mut(at) {
            Some(pending) => {
                pending.applied = true;
                pending.last
            }
            None => return Ok(()),
        };
        let before = inner.visible;
        while inner.pending.front().is_some_and(|p| p.applied) {
            if let Some(done) = inner.pending.pop_front() {
                inner.visible = done.last;
                inner.first_ticket += 1;
            }
        }
        if inner.visible != before {
            self.visible.store(inner.visible, Ordering::Release);
            self.moved.notify_all();
        }
        if inner.visible < last {
            drop(inner);
            if !spin_until(|| self.visible() >= last) {
                marks::EARLIER_BATCH.hit();
            }
            inner = self.inner.lock();
        }
        while inner.visible < last {
            if let Some(cause) = &inner.failed {
                return Err(Error::OutcomeUnknown(Box::new(cause.clone())));
            }
            self.moved.wait(&mut inner);
        }
        Ok(())
    }

    /// Wakes every waiter: some batch will never be applied.
    pub fn fail(&self, cause: &Error) {
        self.inner.lock().failed.get_or_insert_with(|| cause.clone());
        self.moved.notify_all();
    }

    /// Why some batch will never be applied, if so.
    pub fn failure(&self) -> Option<Error> {
        self.inner.lock().failed.clone()
    }

    /// Takes the visible number and registers a snapshot there, in one step.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        let mut inner = self.inner.lock();
        let (seq, id) = (inner.visible, inner.next_snapshot);
        inner.next_snapshot += 1;
        let ended = Arc::new(AtomicBool::new(self.closed.load(Ordering::Acquire)));
        let taken = self.clock.now();
        inner.snapshots.insert((seq, id), Registered { taken, ended: ended.clone() });
        Snapshot(Arc::new(SnapshotInner { seq, id, ended, visibility: self.clone() }))
    }

    /// The numbers that reads may use: live snapshots, and *visible* itself, ascending.
    pub fn live(&self) -> Vec<Seq> {
        let inner = self.inner.lock();
        let mut live: Vec<Seq> = inner.snapshots.keys().map(|(seq, _)| *seq).collect();
        live.push(inner.visible);
        live.dedup();
        live
    }

    /// The oldest snapshot: its number and age.
    pub fn oldest(&self) -> Option<(Seq, Duration)> {
        let inner = self.inner.lock();
        let ((seq, _), registered) = inner.snapshots.iter().next()?;
        Some((*seq, self.clock.now().saturating_sub(registered.taken)))
    }

    /// The number of the oldest snapshot.
    pub fn oldest_seq(&self) -> Option<Seq> {
        self.inner.lock().snapshots.keys().next().map(|(seq, _)| *seq)
    }

    /// What does not hold, if anything: for tests.
    pub fn broken_invariant(&self) -> Option<String> {
        let inner = self.inner.lock();
        let (visible, told) = (inner.visible, self.visible());
        if told != visible {
            return Some(format!("readers are told that {told} is visible, and it is {visible}"));
        }
        let mut above = visible;
        for Pending { last, applied } in &inner.pending {
            if *last <= above || (*applied && above == visible) {
                return Some(format!("a batch that ends at {last} (applied: {applied}) waits above {above}"));
            }
            above = *last;
        }
        let newest = inner.snapshots.keys().next_back().map(|(seq, _)| *seq);
        newest.filter(|seq| *seq > visible).map(|seq| format!("a snapshot at {seq}, above what is visible, {visible}"))
    }

    /// Live snapshots.
    pub fn snapshot_count(&self) -> usize {
        self.inner.lock().snapshots.len()
    }

    /// Ends snapshots beyond the age limit; returns how many.
    pub fn end_old(&self) -> usize {
        let now = self.clock.now();
        self.end(|_, registered| now.saturating_sub(registered.taken) > self.max_age)
    }

    /// Ends the snapshots at and below a number; returns how many.
    pub fn end_up_to(&self, last: Seq) -> usize {
        self.end(|seq, _| seq <= last)
    }

    /// Ends all snapshots, also those to come: the store is closed.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.end(|_, _| true);
    }

    fn end(&self, ends: impl Fn(Seq, &Registered) -> bool) -> usize {
        let mut inner = self.inner.lock();
        let before = inner.snapshots.len();
        inner.snapshots.retain(|(seq, _), registered| {
            let keep = !ends(*seq, registered);
            if !keep {
                registered.ended.store(true, Ordering::Release);
            }
            keep
        });
        before - inner.snapshots.len()
    }
}

/// A moment of the whole store that reads can go back to. It never changes.
///
/// Cheap to clone; ends when the last clone is dropped, when it is older than
/// [`crate::Options::snapshot_max_age`], or when it is the oldest and files keep more for snapshots
/// than [`crate::Options::snapshot_max_debt_bytes`] (then reads answer [`Error::SnapshotTooOld`]).
#[derive(Clone)]
pub struct Snapshot(Arc<SnapshotInner>);

struct SnapshotInner {
    seq: Seq,
    id: u64,
    ended: Arc<AtomicBool>,
    visibility: Arc<Visibility>,
}

impl Snapshot {
    /// The number of the last operation that the snapshot sees.
    ///
    /// ```
    /// # use alluvium_store::{Durability, Options, Store};
    /// # let store = Store::open(alluvium_env::Env::in_memory(1), "db".as_ref(), Options::default())?;
    /// # let pets = store.create_trees(&[b"pets"])?[0];
    /// let snapshot = store.snapshot();
    /// let mut batch = store.batch();
    /// batch.put(pets, b"rex", b"dog");
    /// let written = store.write(batch, Durability::Periodic)?;
    /// assert!(snapshot.seq() < written && store.snapshot().seq() >= written);
    /// # alluvium_store::Result::Ok(())
    /// ```
    pub fn seq(&self) -> Seq {
        self.0.seq
    }

    /// Errors if the snapshot was ended, or the store closed. Readers ask *after* they have pinned their files: what
    /// was pinned while the snapshot was live still holds all it needs.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.ended.load(Ordering::Acquire) {
            let closed = self.0.visibility.closed.load(Ordering::Acquire);
            return Err(if closed { Error::Closed } else { Error::SnapshotTooOld });
        }
        Ok(())
    }
}

impl Drop for SnapshotInner {
    fn drop(&mut self) {
        self.visibility.inner.lock().snapshots.remove(&(self.seq, self.id));
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("seq", &self.0.seq).finish()
    }
}

#[cfg(all(test, feature = "loom"))]
mod orders;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
#[cfg(test)]
mod tests;

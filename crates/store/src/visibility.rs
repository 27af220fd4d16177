//! Visibility: the *visible* number, the numbered batches that are not visible yet, and the snapshots at or below the
//! visible number.
//!
//! One lock covers all three. Therefore a flush or compaction that drops old versions reads the list of snapshots and
//! the visible number in one atomic step. Lock order: this lock is a leaf.

use crate::error::{Error, Result};
use crate::marks;
use crate::uncommitted::SeenWrites;
use alluvium_codec::entry::Seq;
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex, spin_until};
use alluvium_lsm::View;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The visible number and the snapshots.
pub(crate) struct Visibility {
    state: Mutex<State>,
    /// A copy of `state.visible`, for readers that need no snapshot.
    visible: AtomicU64,
    moved: Condvar,
    clock: Arc<dyn Clock>,
    max_age: Duration,
    closed: AtomicBool,
}

struct State {
    visible: Seq,
    /// Numbered batches that are not visible yet, in number order.
    pending: VecDeque<Pending>,
    /// The ticket of the first batch in `pending`.
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

/// The position of a numbered batch in the order of visibility.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ticket(u64);

impl Visibility {
    pub fn new(visible: Seq, clock: Arc<dyn Clock>, max_age: Duration) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
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

    /// The last number of the last batch that is visible. All batches before it are visible too.
    #[inline]
    pub fn visible(&self) -> Seq {
        self.visible.load(Ordering::Acquire)
    }

    /// Sets the number that recovery has found, before the store is used.
    pub fn recovered(&self, visible: Seq) {
        self.state.lock().visible = visible;
        self.visible.store(visible, Ordering::Release);
    }

    /// Enters a batch whose last number is `last`. The commit leader calls this in number order.
    pub fn enter(&self, last: Seq) -> Ticket {
        let mut state = self.state.lock();
        state.pending.push_back(Pending { last, applied: false });
        Ticket(state.first_ticket + state.pending.len() as u64 - 1)
    }

    /// Records that the batch is in the memtables, and waits until it is visible.
    pub fn applied(&self, ticket: Ticket) -> Result<()> {
        let mut state = self.state.lock();
        let at = (ticket.0 - state.first_ticket) as usize;
        let last = match state.pending.get_mut(at) {
            Some(pending) => {
                pending.applied = true;
                pending.last
            }
            None => return Ok(()),
        };
        let before = state.visible;
        while state.pending.front().is_some_and(|p| p.applied) {
            if let Some(done) = state.pending.pop_front() {
                state.visible = done.last;
                state.first_ticket += 1;
            }
        }
        if state.visible != before {
            self.visible.store(state.visible, Ordering::Release);
            self.moved.notify_all();
        }
        if state.visible < last {
            drop(state);
            if !spin_until(|| self.visible() >= last) {
                marks::EARLIER_BATCH.hit();
            }
            state = self.state.lock();
        }
        while state.visible < last {
            if let Some(cause) = &state.failed {
                return Err(Error::OutcomeUnknown(Box::new(cause.clone())));
            }
            self.moved.wait(&mut state);
        }
        Ok(())
    }

    /// Wakes every waiter, because some batch will never be applied.
    pub fn fail(&self, cause: &Error) {
        self.state.lock().failed.get_or_insert_with(|| cause.clone());
        self.moved.notify_all();
    }

    /// The reason why some batch will never be applied, if there is one.
    pub fn failure(&self) -> Option<Error> {
        self.state.lock().failed.clone()
    }

    /// Takes the visible number and registers a snapshot at it, in one step.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        let mut state = self.state.lock();
        let (seq, id) = (state.visible, state.next_snapshot);
        state.next_snapshot += 1;
        let ended = Arc::new(AtomicBool::new(self.closed.load(Ordering::Acquire)));
        let taken = self.clock.now();
        state.snapshots.insert((seq, id), Registered { taken, ended: ended.clone() });
        let registered = Arc::new(SnapshotInner { seq, id, ended, visibility: self.clone() });
        Snapshot { registered, writes: None }
    }

    /// The numbers at which reads may happen, ascending: the numbers of live snapshots, and the visible number.
    pub fn live(&self) -> Vec<Seq> {
        let state = self.state.lock();
        let mut live: Vec<Seq> = state.snapshots.keys().map(|(seq, _)| *seq).collect();
        live.push(state.visible);
        live.dedup();
        live
    }

    /// The number and the age of the oldest snapshot.
    pub fn oldest(&self) -> Option<(Seq, Duration)> {
        let state = self.state.lock();
        let ((seq, _), registered) = state.snapshots.iter().next()?;
        Some((*seq, self.clock.now().saturating_sub(registered.taken)))
    }

    /// The number of the oldest snapshot.
    pub fn oldest_seq(&self) -> Option<Seq> {
        self.state.lock().snapshots.keys().next().map(|(seq, _)| *seq)
    }

    /// A description of a broken invariant, or `None`. For tests.
    pub fn broken_invariant(&self) -> Option<String> {
        let state = self.state.lock();
        let (visible, copy) = (state.visible, self.visible());
        if copy != visible {
            return Some(format!("readers see that {copy} is visible, and it is {visible}"));
        }
        let mut above = visible;
        for Pending { last, applied } in &state.pending {
            if *last <= above || (*applied && above == visible) {
                return Some(format!("a batch that ends at {last} (applied: {applied}) waits above {above}"));
            }
            above = *last;
        }
        let newest = state.snapshots.keys().next_back().map(|(seq, _)| *seq);
        newest
            .filter(|seq| *seq > visible)
            .map(|seq| format!("a snapshot at {seq}, above the visible number {visible}"))
    }

    /// Live snapshots.
    pub fn snapshot_count(&self) -> usize {
        self.state.lock().snapshots.len()
    }

    /// Ends the snapshots above the age limit. Returns their number.
    pub fn end_old(&self) -> usize {
        let now = self.clock.now();
        self.end(|_, registered| now.saturating_sub(registered.taken) > self.max_age)
    }

    /// Ends the snapshots at or below a sequence number. Returns how many were ended.
    pub fn end_up_to(&self, last: Seq) -> usize {
        self.end(|seq, _| seq <= last)
    }

    /// Ends all snapshots because the store is closed. Snapshots that are taken later are ended at once.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.end(|_, _| true);
    }

    fn end(&self, ends: impl Fn(Seq, &Registered) -> bool) -> usize {
        let mut state = self.state.lock();
        let before = state.snapshots.len();
        state.snapshots.retain(|(seq, _), registered| {
            let keep = !ends(*seq, registered);
            if !keep {
                registered.ended.store(true, Ordering::Release);
            }
            keep
        });
        before - state.snapshots.len()
    }
}

/// A consistent state of the whole store, for reads. It never changes.
///
/// Cheap to clone. A snapshot ends when its last clone is dropped. It also ends when it is older than
/// [`crate::Options::snapshot_max_age`], or when it is the oldest and files keep more bytes for snapshots than
/// [`crate::Options::snapshot_max_debt_bytes`]; then reads return [`Error::SnapshotTooOld`].
#[derive(Clone)]
pub struct Snapshot {
    registered: Arc<SnapshotInner>,
    /// Uncommitted writes that reads at the snapshot see, too.
    writes: Option<SeenWrites>,
}

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
        self.registered.seq
    }

    /// Returns an error if the snapshot was ended, or the store closed. Readers must check *after* they have pinned
    /// their files: files that were pinned while the snapshot was live have all the data that it needs.
    pub(crate) fn check(&self) -> Result<()> {
        if self.registered.ended.load(Ordering::Acquire) {
            let closed = self.registered.visibility.closed.load(Ordering::Acquire);
            return Err(if closed { Error::Closed } else { Error::SnapshotTooOld });
        }
        Ok(())
    }

    /// The same state under uncommitted writes.
    pub(crate) fn under(&self, writes: SeenWrites) -> Self {
        Self { registered: self.registered.clone(), writes: Some(writes) }
    }

    /// The view of a partition with the uncommitted writes of the snapshot.
    #[inline]
    pub(crate) fn over(&self, partition: usize, view: Arc<View>) -> Arc<View> {
        match &self.writes {
            None => view,
            Some(writes) => writes.over(partition, &view).map_or(view, Arc::new),
        }
    }
}

impl Drop for SnapshotInner {
    fn drop(&mut self) {
        self.visibility.state.lock().snapshots.remove(&(self.seq, self.id));
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("seq", &self.seq()).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "loom"))]
mod orders;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
#[cfg(test)]
mod tests;

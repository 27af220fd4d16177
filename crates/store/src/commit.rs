//! The commit queue. One leader numbers the waiting batches and writes them to the log as one group. Then every thread
//! applies its own batch to the memtables.
//!
//! Leadership is a role, not a thread. The first thread that finds no leader becomes the leader. When its group is in
//! the log, it passes the leadership to the front of the queue. Only the leader numbers operations, appends to the log,
//! seals memtables and changes the set of live trees; therefore all of these happen in one order.
//!
//! Lock order: `queue`, then the `state` of a request. Neither lock is held while the log is written.

use crate::admission::Admission;
use crate::batch::{Numbered, Unstamped, WriteBatch};
use crate::durability::Syncer;
use crate::error::{Error, Result};
use crate::holds::Holds;
use crate::marks;
use crate::options::{Durability, Options};
use crate::partitions::{self, Partitions};
use crate::poison::Poison;
use crate::trees::{SchemaChange, Trees};
use crate::visibility::{Ticket, Visibility};
use crate::work::WorkSignal;
use alluvium_codec::entry::{Entry, Kind, MAX_SEQ, Seq};
use alluvium_codec::ranges::RangeSet;
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex, spin_until};
use alluvium_memtable::Memtable;
use alluvium_wal::{Compressor, Position, Purpose, Record, Wal};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// A group takes waiting batches up to this many bytes (and at least one batch).
const GROUP_BYTES: usize = 1 << 20;
/// A chain of this many deltas on one key in one memtable is folded.
const LONG_CHAIN: usize = 32;
/// Only one delta in this many checks the length of its chain.
const LOOK_EVERY: Seq = 16;

thread_local! {
    /// The number of the last batch that the thread has committed.
    static OF_THREAD: Cell<Option<Seq>> = const { Cell::new(None) };
}

/// Takes the number of the last batch that this thread has committed.
pub(crate) fn take_number_of_thread() -> Option<Seq> {
    OF_THREAD.take()
}

/// Writes requests to the log and the memtables.
pub(crate) struct Commit {
    pub options: Arc<Options>,
    pub wal: Arc<Wal>,
    pub partitions: Partitions,
    pub trees: Arc<Trees>,
    pub visibility: Arc<Visibility>,
    pub admission: Arc<Admission>,
    pub holds: Arc<Holds>,
    pub work: Arc<WorkSignal>,
    pub poison: Arc<Poison>,
    pub syncer: Arc<Syncer>,
    pub compressor: Compressor,
    pub clock: Arc<dyn Clock>,
    pub queue: CommitQueue,
}

/// The waiting requests, and the number of the next operation.
pub(crate) struct CommitQueue {
    requests: Mutex<Requests>,
    /// Written by the leader only.
    next_seq: AtomicU64,
}

impl CommitQueue {
    pub fn new(next_seq: Seq) -> Self {
        Self { requests: Mutex::new(Requests::default()), next_seq: AtomicU64::new(next_seq) }
    }
}

#[derive(Default)]
struct Requests {
    waiting: VecDeque<Arc<Request>>,
    led: bool,
}

/// A request to the leader.
pub(crate) enum Work {
    /// Number and log a batch, and apply it to memtables; with it, change the set of trees.
    Batch(WriteBatch, Option<Box<SchemaChange>>),
    /// Log a record that is not a batch. It takes one number.
    Note(Vec<u8>),
    /// Seal the memtables of these partitions.
    Rotate(Vec<u32>),
}

impl Work {
    /// Determines how much disk space must stay free when a new segment is begun for this request.
    fn purpose(&self) -> Purpose {
        match self {
            Self::Note(_) | Self::Rotate(_) => Purpose::Upkeep,
            // A removal may begin with new descriptions of trees, which take little space.
            Self::Batch(_, Some(change)) if change.create.is_empty() => Purpose::Removal,
            Self::Batch(batch, None) if !batch.grows => Purpose::Removal,
            Self::Batch(..) => Purpose::Growth,
        }
    }
}

struct Request {
    work: Work,
    /// The bytes of a batch with stamped entries, which the leader finishes. All other batches have theirs in `work`.
    unstamped: Option<Box<Unstamped>>,
    /// The compressed form of the batch, which its thread has made for the log.
    compressed: Option<Vec<u8>>,
    state: Mutex<State>,
    changed: Condvar,
    /// Set when the request is no longer queued: a hint for a thread that spins before it sleeps.
    called: AtomicBool,
}

enum State {
    Queued,
    Leading,
    Done(Result<Placed>),
}

/// The numbers and memtables that the leader has given to a batch.
#[derive(Clone, Default)]
struct Placed {
    first: Seq,
    ticket: Option<Ticket>,
    memtables: Vec<(u16, Arc<Memtable>)>,
    end: Option<Position>,
}

impl Request {
    fn new(mut work: Work, compressed: Option<Vec<u8>>) -> Arc<Self> {
        let unstamped = match &mut work {
            Work::Batch(batch, _) => batch.take_unstamped(),
            Work::Note(_) | Work::Rotate(_) => None,
        };
        let (state, changed) = (Mutex::new(State::Queued), Condvar::new());
        Arc::new(Self { work, unstamped, compressed, state, changed, called: AtomicBool::new(false) })
    }

    /// The bytes of the batch of the request, for the log and the memtables. They are complete once the leader has
    /// numbered it.
    fn bytes_of<'a>(&'a self, batch: &'a WriteBatch) -> &'a [u8] {
        self.unstamped.as_ref().map_or(&batch.bytes, |unstamped| unstamped.bytes())
    }

    /// The length of the request in the log.
    fn len(&self) -> usize {
        match &self.work {
            Work::Batch(batch, _) => self.unstamped.as_ref().map_or(batch.encoded_bytes(), |unstamped| unstamped.len),
            Work::Note(note) => note.len(),
            Work::Rotate(_) => 0,
        }
    }

    fn call(&self, state: State) {
        *self.state.lock() = state;
        self.called.store(true, Ordering::Release);
        self.changed.notify_one();
    }
}

/// A numbered batch that is being applied to its memtables. If the thread panics before the end, other threads must not
/// wait for the batch, and no flush may write half of it. Therefore the store is poisoned.
struct Applying<'a> {
    poison: &'a Poison,
    left: &'a [(u16, Arc<Memtable>)],
}

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        if self.left.is_empty() {
            return;
        }
        self.poison.poison(Error::WorkerFailed("a writer panicked while it applied a batch".to_owned()));
        for (_, memtable) in self.left {
            memtable.finish_writer();
        }
    }
}

impl Commit {
    /// Writes a request to the log and the memtables. Returns the number of the last operation of the batch when the
    /// batch is visible and as durable as `durability` demands.
    pub fn commit(&self, work: Work, durability: Durability) -> Result<Seq> {
        match &work {
            Work::Batch(..) => self.poison.health.check_takes_writes()?,
            Work::Note(_) | Work::Rotate(_) => self.poison.health.check_writable()?,
        }
        let compressed = match &work {
            // The leader does not compress, so a batch that it finishes stays as it is.
            Work::Batch(batch, _) if !batch.stamped => self.compressor.compress(&batch.bytes),
            Work::Batch(..) | Work::Note(_) | Work::Rotate(_) => None,
        };
        let request = Request::new(work, compressed);
        let placed = self.wait_for_place(&request)?;
        let count = self.apply(&request, &placed);
        if let Some(ticket) = placed.ticket {
            self.visibility.applied(ticket)?;
        }
        if let Some(end) = placed.end {
            self.syncer.acknowledge(end, durability)?;
        }
        let last = placed.first + count.max(1) - 1;
        if matches!(request.work, Work::Batch(..)) {
            OF_THREAD.set(Some(last));
        }
        Ok(last)
    }

    /// Seals every memtable that has entries. Returns a number that is above all of their numbers.
    pub fn seal_all(&self) -> Result<Seq> {
        self.commit(Work::Rotate(partitions::all(&self.partitions)), Durability::Bulk)
    }

    /// Returns when all requests that were queued earlier are logged or refused.
    pub fn barrier(&self) {
        let _refused_or_done = self.wait_for_place(&Request::new(Work::Rotate(Vec::new()), None));
    }

    fn wait_for_place(&self, request: &Arc<Request>) -> Result<Placed> {
        let mut queue = self.queue.requests.lock();
        queue.waiting.push_back(request.clone());
        let lead = !queue.led;
        queue.led = true;
        drop(queue);
        if !lead {
            spin_until(|| request.called.load(Ordering::Acquire));
            let mut state = request.state.lock();
            loop {
                match &*state {
                    State::Done(result) => return result.clone(),
                    State::Leading => break,
                    State::Queued => request.changed.wait(&mut state),
                }
            }
        }
        self.lead();
        match &*request.state.lock() {
            State::Done(result) => result.clone(),
            // Unreachable: the leader's own request is at the front of the queue, so its group contains it.
            State::Queued | State::Leading => Err(Error::Closed),
        }
    }

    /// Leads one group, then passes the leadership on.
    fn lead(&self) {
        let group = self.take_group();
        let outcomes = self.number_and_log(&group);
        let mut queue = self.queue.requests.lock();
        match queue.waiting.front() {
            Some(next) => next.call(State::Leading),
            None => queue.led = false,
        }
        drop(queue);
        for (request, outcome) in group.iter().zip(outcomes) {
            request.call(State::Done(outcome));
        }
    }

    /// Takes waiting requests. A change of the set of trees, a note or a seal forms a group of its own. If disk space
    /// is short, deletes and other writes are in separate groups: deletes may use the reserve, and must not be blocked
    /// by writes that may not use it.
    fn take_group(&self) -> Vec<Arc<Request>> {
        let short = self.wal.is_short();
        let mut queue = self.queue.requests.lock();
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(next) = queue.waiting.front() {
            let len = next.len();
            let alone = match &next.work {
                Work::Batch(_, schema) => schema.is_some(),
                Work::Note(_) | Work::Rotate(_) => true,
            };
            let apart = |first: &Arc<Request>| alone || short && first.work.purpose() != next.work.purpose();
            if group.first().is_some_and(|first| apart(first) || bytes + len > GROUP_BYTES) {
                break;
            }
            bytes += len;
            group.extend(queue.waiting.pop_front());
            if alone {
                break;
            }
        }
        group
    }

    /// Numbers a group and writes it to the log. Returns an outcome for each request.
    fn number_and_log(&self, group: &[Arc<Request>]) -> Vec<Result<Placed>> {
        if let Err(error) = self.poison.health.check_writable() {
            return group.iter().map(|_| Err(error.clone())).collect();
        }
        let first = self.queue.next_seq.load(Ordering::Relaxed);
        self.rotate_where_due(group, first);
        let mut next = first;
        let mut records = Vec::with_capacity(group.len());
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            outcomes.push(self.place(request, &mut next, &mut records));
        }
        if records.is_empty() {
            return outcomes;
        }
        let purpose = group.iter().map(|request| request.work.purpose()).max().unwrap_or(Purpose::Upkeep);
        match self.wal.append_for(purpose, &records) {
            Ok(end) => {
                self.enter(group, &mut outcomes, end);
                self.syncer.sync_ahead();
            }
            Err(error) => self.unplace(&mut outcomes, error),
        }
        outcomes
    }

    /// Gives a request its number and its memtables.
    fn place<'a>(&self, request: &'a Request, next: &mut Seq, records: &mut Vec<Record<'a>>) -> Result<Placed> {
        let first = *next;
        let mut placed = Placed { first, ..Placed::default() };
        let (count, payload) = match &request.work {
            Work::Rotate(_) => return Ok(placed),
            Work::Note(note) => (1, note.as_slice()),
            Work::Batch(batch, schema) => {
                let created = schema.as_ref().map_or(&[][..], |change| &change.create);
                let checked = self.trees.check_schemas(&batch.schemas);
                let checked = checked.and_then(|()| self.trees.check_live(&batch.trees, created));
                checked.inspect_err(|_| marks::BATCH_SENT_BACK.hit())?;
                if batch.is_empty() {
                    return Ok(placed);
                }
                for partition in batch.touched() {
                    let memtable = self.partitions[partition as usize].active();
                    memtable.register_writer();
                    placed.memtables.push((partition, memtable));
                }
                if let Some(unstamped) = &request.unstamped {
                    unstamped.finish(batch, first, self.clock.unix_millis());
                }
                (batch.len() as Seq, request.bytes_of(batch))
            }
        };
        *next += count;
        placed.ticket = Some(Ticket::default());
        let compressed = request.compressed.as_deref();
        records.push(Record { compressed, ..Record::new(first, *next - 1, payload) });
        Ok(placed)
    }

    /// After the group is in the log, enters its batches into the order of visibility.
    fn enter(&self, group: &[Arc<Request>], outcomes: &mut [Result<Placed>], end: Position) {
        let mut next = self.queue.next_seq.load(Ordering::Relaxed);
        for (request, outcome) in group.iter().zip(outcomes) {
            let Ok(placed) = outcome else { continue };
            if placed.ticket.is_none() {
                continue;
            }
            let count = match &request.work {
                Work::Batch(batch, schema) => {
                    if let Some(change) = schema {
                        self.trees.change(change, placed.first);
                    }
                    // Must happen before the batch is visible, and before one of its memtables can be sealed.
                    if batch.ranges {
                        placed.memtables.iter().for_each(|(_, memtable)| memtable.expect_ranges());
                    }
                    batch.len() as Seq
                }
                Work::Note(_) | Work::Rotate(_) => 1,
            };
            next = placed.first + count;
            placed.ticket = Some(self.visibility.enter(next - 1));
            placed.end = Some(end);
        }
        self.queue.next_seq.store(next, Ordering::Release);
    }

    /// Undoes the placement of a group that the log refused.
    fn unplace(&self, outcomes: &mut [Result<Placed>], cause: alluvium_env::Error) {
        let full = cause.is_no_space();
        let cause = Error::Storage(cause);
        let error = if self.wal.poisoned().is_some() {
            self.poison.poison(cause.clone());
            Error::OutcomeUnknown(Box::new(cause))
        } else if full {
            marks::WRITE_WITHOUT_SPACE.hit();
            // A flush of the operations in the log now allows the removal of segments: see `relieve_log`.
            self.work.signal();
            Error::NoSpace(Box::new(cause))
        } else {
            // No segment could be begun, for instance because no file descriptors are left. The log is unchanged.
            cause
        };
        for outcome in outcomes {
            if let Ok(placed) = outcome {
                for (_, memtable) in &placed.memtables {
                    memtable.finish_writer();
                }
                *outcome = Err(error.clone());
            }
        }
    }

    /// Applies a batch to its memtables. Returns the number of its operations.
    fn apply(&self, request: &Request, placed: &Placed) -> Seq {
        let Work::Batch(batch, _) = &request.work else { return 1 };
        let numbered = batch.numbered(request.bytes_of(batch), placed.first);
        let mut applying = Applying { poison: &self.poison, left: &placed.memtables };
        while let Some(((partition, memtable), left)) = applying.left.split_first() {
            memtable.apply_some_ordered(numbered.marked_entries(*partition));
            if batch.ranges {
                // No snapshot is within the batch, so only the newest of overlapping ranges counts. Therefore many
                // overlapping ranges take no more memory than their bounds.
                let ranges = numbered.deleted_ranges(*partition);
                let ranges = ranges.map(|range| RangeSet::one(range.key, range.value, range.seq)).collect();
                let own = [placed.first.saturating_sub(1), MAX_SEQ];
                memtable.delete_ranges(RangeSet::union(ranges, &own), &self.visibility.live());
            }
            if batch.deltas {
                self.shorten_chains(numbered, *partition, memtable);
            }
            memtable.finish_writer();
            applying.left = left;
        }
        batch.len() as Seq
    }

    /// Folds long chains of deltas among the keys of this batch; see [`alluvium_lsm::View::shorten`].
    fn shorten_chains(&self, batch: Numbered<'_>, partition: u16, memtable: &Memtable) {
        let looked_at = |entry: &Entry<'_>| entry.kind == Kind::Delta && entry.seq.is_multiple_of(LOOK_EVERY);
        for entry in batch.entries(partition).filter(looked_at) {
            let partition = &self.partitions[usize::from(partition)];
            // An error is ignored here, because folding only makes reads faster: a read of the key reports the error
            // itself.
            if let Ok(refused) = partition.view().shorten(memtable, entry.key, self.visibility.visible(), LONG_CHAIN) {
                partition.note_refused(refused);
            }
        }
    }

    /// Seals memtables that are too large, that pin too much of the log, or that a request names.
    fn rotate_where_due(&self, group: &[Arc<Request>], next: Seq) {
        for request in group {
            if let Work::Rotate(partitions) = &request.work {
                for partition in partitions {
                    self.seal(*partition as usize, next);
                }
            }
        }
        let over = self.memtable_over_limit();
        if let Some(partition) = over.or_else(|| self.log_pinned_by_active()) {
            if over.is_none() {
                marks::SEALED_FOR_LOG.hit();
            }
            self.seal(partition, next);
        }
    }

    /// The partition with the largest memtable, if this memtable, or all memtables together, are too large.
    fn memtable_over_limit(&self) -> Option<usize> {
        let largest_if = |bytes: &dyn Fn(&Memtable) -> usize, limit: usize| {
            let all: Vec<usize> = self.partitions.iter().map(|p| bytes(&p.active())).collect();
            let (at, largest) = all.iter().enumerate().max_by_key(|(_, bytes)| **bytes)?;
            let too_large = *largest > limit.min(alluvium_memtable::FULL_BYTES)
                || all.iter().sum::<usize>() > limit.saturating_mul(2);
            too_large.then_some(at)
        };
        // A memtable is sealed at a quarter of the limit. Then the next memtable has as much room while the first is
        // flushed, even in a store with a single partition.
        largest_if(&Memtable::charged_bytes, self.options.memtable_bytes() / 4).or_else(|| {
            let limit = self.options.tuning.memtable_bytes?;
            largest_if(&|active| active.raw_bytes() as usize, limit as usize)
        })
    }

    fn seal(&self, partition: usize, next: Seq) {
        if self.partitions[partition].rotate(next) {
            self.admission.measure_debt();
            self.work.signal();
        }
    }

    /// If the log is over its limit, the partition whose active memtable pins the oldest part of the log.
    fn log_pinned_by_active(&self) -> Option<usize> {
        // A log that is held or damaged is kept even if everything is flushed.
        let kept = || self.holds.keep_all();
        if self.wal.bytes_on_disk() <= self.options.log_limit_bytes() || kept() {
            return None;
        }
        let pins = self.partitions.iter().map(|p| p.view().oldest_unflushed());
        let (partition, pin) = pins.enumerate().filter_map(|(at, pin)| Some((at, pin?))).min_by_key(|(_, pin)| *pin)?;
        // If a sealed memtable pins the log, its flush is already due.
        (self.partitions[partition].active().first_seq() == pin).then_some(partition)
    }
}

#[cfg(test)]
mod tests;

//! The memtable.

use crate::contents::{Contents, Frozen};
use crate::order::{Order, Run, Runs};
use crate::ranges::Ranges;
use crate::sort;
use crate::sorted::Sorted;
use crate::state::State;
use alluvium_codec::entry::{Entry, Kind, MAX_SEQ, Seq};
use alluvium_codec::ranges::RangeSet;
use alluvium_env::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use std::sync::Arc;

/// Recent writes of one partition, over a contiguous interval of numbers.
///
/// A memtable has two phases. While it grows, one lock guards its entries, taken for writing once per
/// [`Memtable::apply`]; iterators sort the new entries and merge geometrically. Once the memtable is sealed and its
/// last writer has finished, it is *frozen*: it never changes again, reads take no lock, and the first iterator sorts
/// it as a whole.
///
/// Its capacity is between about 8 GiB and 32 GiB; keys and values are shorter than 4 GiB.
///
/// Range tombstones are stored separately from the entries ([`Memtable::delete_range`]), and the memtable hides no
/// entry because of them: readers compare the numbers.
///
/// Locks: the order, then the state; the lock of the range tombstones is independent. No lock is held while waiting for
/// anything else.
pub struct Memtable {
    first_seq: Seq,
    last_seq: AtomicU64,
    /// The number of registered writers, and two flags.
    gate: AtomicU64,
    /// Held while waiting for a change of `gate`, and while notifying of one.
    gate_lock: Mutex<()>,
    gate_changed: Condvar,
    contents: Contents,
    order: Mutex<Order>,
    order_bytes: AtomicUsize,
    ranges: Ranges,
}

/// In [`Memtable::gate`]: no more writers will be registered.
const SEALED: u64 = 1 << 63;
/// In [`Memtable::gate`]: a thread waits for a change of the gate.
const AWAITED: u64 = 1 << 62;
const WRITERS: u64 = AWAITED - 1;

impl Memtable {
    /// An empty memtable for the numbers from `first_seq` upwards.
    pub fn new(first_seq: Seq) -> Self {
        Self::with(first_seq, State::default())
    }

    /// As [`Memtable::new`], for few entries: the first of them take little memory.
    pub fn small(first_seq: Seq) -> Self {
        Self::with(first_seq, State::small())
    }

    fn with(first_seq: Seq, state: State) -> Self {
        Self {
            first_seq,
            last_seq: AtomicU64::new(0),
            gate: AtomicU64::new(0),
            gate_lock: Mutex::new(()),
            gate_changed: Condvar::new(),
            contents: Contents::new(state),
            order: Mutex::new(Order::default()),
            order_bytes: AtomicUsize::new(0),
            ranges: Ranges::default(),
        }
    }

    /// The first number of the interval.
    pub fn first_seq(&self) -> Seq {
        self.first_seq
    }

    /// Announces a writer. The commit leader calls this before it numbers operations for this memtable, and never after
    /// [`Memtable::seal`].
    pub fn register_writer(&self) {
        let before = self.gate.fetch_add(1, Ordering::AcqRel);
        debug_assert_eq!(before & SEALED, 0, "a writer was registered after the seal");
    }

    /// Adds entries, under one lock for all of them. The numbers of a key may arrive in any order. Of two entries with
    /// the same key and number, the entry applied last remains.
    ///
    /// # Panics
    /// If the memtable is sealed and no writer is registered, if the limits of [`Memtable`] are exceeded, or if
    /// `entries` panics.
    pub fn apply<'a>(&self, entries: impl Iterator<Item = Entry<'a>>) {
        self.apply_some_ordered(entries.map(|entry| (entry, false)));
    }

    /// As [`Memtable::apply`]. Entries with `true` are found only by iterators, not by [`Memtable::get`], which makes
    /// adding them cheaper. No two of these entries may have the same key and number.
    ///
    /// # Panics
    /// As [`Memtable::apply`].
    pub fn apply_some_ordered<'a>(&self, entries: impl Iterator<Item = (Entry<'a>, bool)>) {
        self.contents.apply(entries);
    }

    /// Announces that a registered writer will add range tombstones, so that readers search for them. The commit leader
    /// calls this before the memtable can be sealed.
    pub fn expect_ranges(&self) {
        self.ranges.expect();
    }

    /// Adds a range tombstone: the keys from `start` to below `end` are deleted as of `seq`. Drops a number if a newer
    /// tombstone covers the same keys and no reader can distinguish the two. Readers are at one of `snapshots` or above
    /// the last of them. `snapshots` is ascending, and its last element is the *visible* number. Therefore the list
    /// must contain every reader below its last element.
    pub fn delete_range(&self, start: &[u8], end: &[u8], seq: Seq, snapshots: &[Seq]) {
        self.ranges.add(RangeSet::one(start, end, seq), snapshots);
    }

    /// As [`Memtable::delete_range`], for many ranges at once.
    pub fn delete_ranges(&self, ranges: RangeSet, snapshots: &[Seq]) {
        self.ranges.add(ranges, snapshots);
    }

    /// True if there are range tombstones, or may be soon. Cheap.
    #[inline]
    pub fn has_ranges(&self) -> bool {
        self.ranges.any()
    }

    /// The number of the newest range tombstone not above `seq` that covers `key`; 0 if there is
    /// none.
    pub fn cover(&self, key: &[u8], seq: Seq) -> Seq {
        if self.has_ranges() { self.ranges.cover(key, seq) } else { 0 }
    }

    /// The range tombstones so far, in immutable sets.
    pub fn ranges(&self) -> Vec<Arc<RangeSet>> {
        if self.has_ranges() { self.ranges.sets() } else { Vec::new() }
    }

    /// Ends a writer's announcement, once all of its entries are applied.
    pub fn finish_writer(&self) {
        let before = self.gate.fetch_sub(1, Ordering::AcqRel);
        debug_assert_ne!(before & WRITERS, 0, "a writer finished that was not registered");
        if before & WRITERS == 1 && before != 1 {
            self.last_writer_left(before & SEALED != 0);
        }
    }

    /// Ends the interval of numbers at `last_seq`. No writer may be registered afterwards; registered writers may still
    /// apply entries.
    pub fn seal(&self, last_seq: Seq) {
        self.last_seq.store(last_seq, Ordering::Release);
        let before = self.gate.fetch_or(SEALED, Ordering::AcqRel);
        if before & WRITERS == 0 && before & SEALED == 0 {
            self.last_writer_left(true);
        }
    }

    fn last_writer_left(&self, sealed: bool) {
        if sealed {
            self.contents.freeze();
        }
        let guard = self.gate_lock.lock();
        self.gate.fetch_and(!AWAITED, Ordering::AcqRel);
        self.gate_changed.notify_all();
        drop(guard);
    }

    /// True after [`Memtable::seal`].
    pub fn is_sealed(&self) -> bool {
        self.gate.load(Ordering::Acquire) & SEALED != 0
    }

    /// The last number of the interval, once sealed.
    pub fn last_seq(&self) -> Option<Seq> {
        self.is_sealed().then(|| self.last_seq.load(Ordering::Acquire))
    }

    /// Waits until every registered writer has finished.
    pub fn wait_for_writers(&self) {
        let mut guard = self.gate_lock.lock();
        loop {
            let before = self.gate.fetch_or(AWAITED, Ordering::AcqRel);
            let freezing = before & SEALED != 0 && self.contents.frozen().is_none();
            if before & WRITERS == 0 && !freezing {
                return;
            }
            self.gate_changed.wait(&mut guard);
        }
    }

    /// Finds the newest version of `key` not above `seq`, and copies its value into `value`. Leaves `value` unchanged
    /// if there is no such version.
    pub fn get(&self, key: &[u8], seq: Seq, value: &mut Vec<u8>) -> Option<(Seq, Kind)> {
        self.contents.read(|state| {
            let found = state.get(key, seq)?;
            value.clear();
            value.extend_from_slice(found.value);
            found.kind.map(|kind| (found.seq, kind))
        })
    }

    /// The memory of this memtable, in bytes: whole chunks, the hash, range tombstones, and the
    /// order made for iterators. Grows with [`Memtable::apply`] and the first [`Memtable::iter`].
    pub fn charged_bytes(&self) -> usize {
        let parts = self.contents.bytes() + self.order_bytes.load(Ordering::Relaxed);
        parts + self.ranges.bytes() + size_of::<Self>()
    }

    /// The bytes of all keys and values that were added.
    pub fn raw_bytes(&self) -> u64 {
        self.contents.read(|state| state.raw)
    }

    /// The number of entries. Counts all versions, and no range tombstones.
    pub fn len(&self) -> usize {
        self.contents.read(State::len)
    }

    /// The number of entries from `lower` to below `upper`. Counts all versions, and no range tombstones. Sorts new
    /// entries, as an iterator does.
    pub fn entries_between(&self, lower: &[u8], upper: &[u8]) -> u64 {
        if let Some(frozen) = self.contents.frozen() {
            let (order, arena) = (self.frozen_order(frozen), &frozen.state.arena);
            let (from, to) = (order.lower_bound(arena, lower, MAX_SEQ), order.lower_bound(arena, upper, MAX_SEQ));
            return to.saturating_sub(from) as u64;
        }
        let runs = self.runs().runs;
        self.contents.read(|state| {
            let before = |key: &[u8]| runs.iter().map(|run| sort::lower_bound(&state.arena, run, key, MAX_SEQ)).sum();
            let (from, to): (usize, usize) = (before(lower), before(upper));
            to.saturating_sub(from) as u64
        })
    }

    /// A sample of the keys from `lower` to below `upper`, in order: the keys of every n-th entry, so that there are
    /// about `count`, or all keys if there are fewer. Sorts new entries, as an iterator does.
    pub fn spread_keys(&self, lower: &[u8], upper: &[u8], count: usize) -> Vec<Vec<u8>> {
        let runs = if self.contents.frozen().is_some() { Vec::new() } else { self.runs().runs };
        let mut keys = Vec::new();
        if let Some(frozen) = self.contents.frozen() {
            let (order, arena) = (self.frozen_order(frozen), &frozen.state.arena);
            let (from, to) = (order.lower_bound(arena, lower, MAX_SEQ), order.lower_bound(arena, upper, MAX_SEQ));
            let step = (to.saturating_sub(from) / count.max(1)).max(1);
            keys.extend((from..to).step_by(step).map(|at| arena.key(order.places[at]).to_vec()));
        } else {
            self.contents.read(|state| {
                let bound = |run: &Run, key| sort::lower_bound(&state.arena, run, key, MAX_SEQ);
                let within = |run: &Arc<Run>| bound(run, lower)..bound(run, upper).max(bound(run, lower));
                let all: usize = runs.iter().map(|run| within(run).len()).sum();
                let step = (all / count.max(1)).max(1);
                for run in &runs {
                    keys.extend(within(run).step_by(step).map(|at| state.arena.key(run[at].place).to_vec()));
                }
            });
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// True if there are neither entries nor range tombstones.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && !self.has_ranges()
    }

    #[inline]
    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// All entries of a frozen memtable, in order.
    pub(crate) fn frozen_order<'a>(&self, frozen: &'a Frozen) -> &'a Sorted {
        let mut made = false;
        let sorted = frozen.order.get_or_init(|| {
            made = true;
            Sorted::new(&frozen.state)
        });
        if made {
            // Not done within `get_or_init`, because a thread that waits in `get_or_init` must hold no lock.
            self.order.lock().clear();
            self.order_bytes.store(sorted.bytes(), Ordering::Relaxed);
        }
        sorted
    }

    /// Sorted runs that together contain all entries.
    pub(crate) fn runs(&self) -> Runs {
        let mut order = self.order.lock();
        let runs = order.update(&self.contents);
        self.order_bytes.store(order.bytes(), Ordering::Relaxed);
        runs
    }
}

#[cfg(test)]
mod tests;

//! A cursor over the sorted runs of a memtable that may still grow.
//!
//! The cursor copies a batch of entries under the memtable's lock and walks the copy. The batch has a lower and an
//! upper boundary in every run, so that the cursor can leave the batch on either side without another search.

use crate::arena::{Arena, NONE};
use crate::contents::Contents;
use crate::order::{Run, Runs};
use crate::sort::{self, Item};
use crate::state::State;
use alluvium_codec::entry::{Kind, Seq};
use std::cmp::Ordering;
use std::sync::Arc;

/// A position in the merged runs.
pub(crate) struct Cursor {
    runs: Vec<Arc<Run>>,
    /// The number of bytes of each chunk of the arena that are in the runs.
    done: Vec<usize>,
    /// Per run: the first item of the batch.
    low: Vec<usize>,
    /// Per run: the first item after the batch.
    high: Vec<usize>,
    batch: Vec<Copied>,
    bytes: Vec<u8>,
    /// The index of the current entry in the batch; the length of the batch when not valid.
    at: usize,
    /// The size of the next batch, in entries.
    want: usize,
}

/// An entry of the batch; its key and value are adjacent in [`Cursor::bytes`].
struct Copied {
    seq: Seq,
    kind: Kind,
    start: usize,
    key_end: usize,
    end: usize,
}

/// The entries of the first batch after a seek. Each later batch has twice as many, up to [`LAST_BATCH`].
const FIRST_BATCH: usize = 4;
const LAST_BATCH: usize = 64;
/// A batch ends when it reaches this many bytes.
const BATCH_BYTES: usize = 64 << 10;

impl Cursor {
    pub(crate) fn new(Runs { runs, done }: Runs) -> Self {
        let zeros = vec![0; runs.len()];
        let (low, high) = (zeros.clone(), zeros);
        Self { runs, done, low, high, batch: Vec::new(), bytes: Vec::new(), at: 0, want: FIRST_BATCH }
    }

    pub(crate) fn seek_first(&mut self, contents: &Contents) {
        self.high.fill(0);
        self.want = FIRST_BATCH;
        self.forward(contents);
    }

    pub(crate) fn seek_last(&mut self, contents: &Contents) {
        self.low = self.runs.iter().map(|run| run.len()).collect();
        self.want = FIRST_BATCH;
        self.backward(contents);
    }

    pub(crate) fn seek(&mut self, contents: &Contents, key: &[u8], seq: Seq) {
        self.high = self.lower_bounds(contents, key, seq);
        self.want = FIRST_BATCH;
        self.forward(contents);
    }

    pub(crate) fn seek_before(&mut self, contents: &Contents, key: &[u8]) {
        self.low = self.lower_bounds(contents, key, Seq::MAX);
        self.want = FIRST_BATCH;
        self.backward(contents);
    }

    /// Releases the copied entries. The cursor is not valid until the next seek.
    pub(crate) fn release(&mut self) {
        (self.batch, self.bytes, self.at) = (Vec::new(), Vec::new(), 0);
    }

    #[inline]
    pub(crate) fn next(&mut self, contents: &Contents) {
        if self.at + 1 < self.batch.len() {
            self.at += 1;
        } else if self.valid() {
            self.forward(contents);
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self, contents: &Contents) {
        if !self.valid() {
            return;
        }
        match self.at.checked_sub(1) {
            Some(at) => self.at = at,
            None => self.backward(contents),
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.at < self.batch.len()
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.batch.get(self.at).map_or(&[], |e| &self.bytes[e.start..e.key_end])
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.batch.get(self.at).map_or(&[], |e| &self.bytes[e.key_end..e.end])
    }

    #[inline]
    pub(crate) fn seq(&self) -> Seq {
        self.batch.get(self.at).map_or(0, |e| e.seq)
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.batch.get(self.at).map_or(Kind::Put, |e| e.kind)
    }

    fn lower_bounds(&self, contents: &Contents, key: &[u8], seq: Seq) -> Vec<usize> {
        contents.read(|state| self.runs.iter().map(|run| sort::lower_bound(&state.arena, run, key, seq)).collect())
    }

    /// Copies the batch after `high`, and moves to its first entry.
    fn forward(&mut self, contents: &Contents) {
        self.start_batch();
        self.low.clone_from(&self.high);
        contents.read(|state| {
            while self.has_room()
                && let Some((run, item)) = least(&self.runs, &self.high, &state.arena)
            {
                self.high[run] += 1;
                self.copy(state, item);
            }
        });
        self.at = 0;
    }

    /// Copies the batch before `low`, and moves to its last entry.
    fn backward(&mut self, contents: &Contents) {
        self.start_batch();
        self.high.clone_from(&self.low);
        contents.read(|state| {
            while self.has_room()
                && let Some((run, item)) = greatest(&self.runs, &self.low, &state.arena)
            {
                self.low[run] -= 1;
                self.copy(state, item);
            }
        });
        self.batch.reverse();
        self.at = self.batch.len().saturating_sub(1);
    }

    fn start_batch(&mut self) {
        self.batch.clear();
        self.bytes.clear();
    }

    fn has_room(&mut self) -> bool {
        let room = self.batch.len() < self.want && self.bytes.len() < BATCH_BYTES;
        if !room {
            self.want = LAST_BATCH.min(self.want * 2);
        }
        room
    }

    fn copy(&mut self, state: &State, item: Item) {
        let mut stored = state.arena.at(item.place);
        let kind = loop {
            match stored.kind {
                Some(kind) => break kind,
                // The replacement is either in the runs, or newer than the runs. In the second case it is copied here.
                None if stored.older == NONE || Arena::is_within(stored.older, &self.done) => return,
                None => stored = state.arena.at(stored.older),
            }
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(stored.key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(stored.value);
        self.batch.push(Copied { seq: stored.seq, kind, start, key_end, end: self.bytes.len() });
    }
}

/// The least item at or after `from`, and its run.
fn least(runs: &[Arc<Run>], from: &[usize], arena: &Arena) -> Option<(usize, Item)> {
    let mut best: Option<(usize, Item)> = None;
    for (run, (items, &from)) in runs.iter().zip(from).enumerate() {
        if let Some(item) = items.get(from)
            && best.is_none_or(|(_, best)| item.compare(&best, arena) == Ordering::Less)
        {
            best = Some((run, *item));
        }
    }
    best
}

/// The greatest item before `to`, and its run.
fn greatest(runs: &[Arc<Run>], to: &[usize], arena: &Arena) -> Option<(usize, Item)> {
    let mut best: Option<(usize, Item)> = None;
    for (run, (items, &to)) in runs.iter().zip(to).enumerate() {
        if let Some(item) = to.checked_sub(1).and_then(|at| items.get(at))
            && best.is_none_or(|(_, best)| item.compare(&best, arena) == Ordering::Greater)
        {
            best = Some((run, *item));
        }
    }
    best
}

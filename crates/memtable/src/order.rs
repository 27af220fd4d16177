//! The order of a memtable that still grows: sorted runs, made on request.
//!
//! The entries added since the last request are sorted into a new run, and runs are merged while the older is less than
//! four times as long as the newer. Therefore there are few runs, and an entry is merged a logarithmic number of times
//! (the logarithmic method of Bentley and Saxe, 1980).
//!
//! Runs never change: an iterator keeps the runs that it started with.

use crate::arena::Arena;
use crate::contents::Contents;
use crate::sort::{self, Item};
use crate::state::State;
use std::cmp::Ordering;
use std::sync::Arc;

/// Entries in order, by the first 16 bytes of their keys.
pub(crate) type Run = Vec<Item>;

/// All runs at one time.
#[derive(Clone, Default)]
pub(crate) struct Runs {
    /// Longest and oldest first.
    pub runs: Vec<Arc<Run>>,
    /// The number of bytes of each chunk of the arena whose entries are in the runs.
    pub done: Vec<usize>,
}

/// An older run is at least this many times as long as the next newer one.
const RATIO: usize = 4;
/// Runs up to this length are merged in one step.
const SMALL: usize = 128;
/// The most entries that are sorted or merged before writers get a turn.
const SLICE: usize = 4096;

/// The runs, longest and oldest first.
#[derive(Default)]
pub(crate) struct Order {
    runs: Vec<Arc<Run>>,
    /// The number of bytes of each chunk of the arena whose entries are in the runs.
    done: Vec<usize>,
    /// The number of entries in the runs.
    entries: usize,
}

impl Order {
    /// Adds all current entries to the runs, and returns the runs.
    ///
    /// Takes the lock of `contents` for reading many times, for a short while each.
    pub(crate) fn update(&mut self, contents: &Contents) -> Runs {
        let target = contents.read(|state| (state.pushed != self.entries).then(|| state.arena.chunk_lens()));
        if let Some(target) = target {
            self.done.resize(self.done.len().max(target.len()), 0);
            while let Some(run) = contents.read(|state| self.next_run(state, &target)) {
                self.add(contents, run);
            }
        }
        Runs { runs: self.runs.clone(), done: self.done.clone() }
    }

    /// The memory of the runs, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.capacity() * size_of::<Item>()).sum()
    }

    /// Drops the runs. Iterators keep the runs that they hold.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Sorts up to [`SLICE`] entries that are in no run yet and before `target`.
    fn next_run(&mut self, state: &State, target: &[usize]) -> Option<Run> {
        let mut run = Run::new();
        for (index, (done, &to)) in self.done.iter_mut().zip(target).enumerate() {
            if *done < to && run.len() < SLICE {
                *done = state.arena.walk(index, *done, to, |place, stored| {
                    let room = run.len() < SLICE;
                    if room {
                        run.push(Item::new(stored.key, 0, place));
                    }
                    room
                });
            }
        }
        if run.is_empty() {
            return None;
        }
        self.entries += run.len();
        sort::sort(&state.arena, &mut run);
        Some(run)
    }

    fn add(&mut self, contents: &Contents, mut run: Run) {
        while let Some(older) = self.runs.last()
            && older.len() < SMALL.max(RATIO * run.len())
        {
            run = merge(contents, older, &run);
            self.runs.pop();
        }
        self.runs.push(Arc::new(run));
    }
}

fn merge(contents: &Contents, a: &[Item], b: &[Item]) -> Run {
    let mut out = Run::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a, b);
    while !a.is_empty() && !b.is_empty() {
        contents.read(|state| merge_slice(&state.arena, &mut a, &mut b, &mut out));
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
    out
}

fn merge_slice(arena: &Arena, a: &mut &[Item], b: &mut &[Item], out: &mut Run) {
    for _ in 0..SLICE {
        let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else { return };
        if first_a.compare(first_b, arena) == Ordering::Less {
            out.push(*first_a);
            *a = &a[1..];
        } else {
            out.push(*first_b);
            *b = &b[1..];
        }
    }
}

#[cfg(test)]
mod tests;

//! The order of a frozen memtable.

use crate::arena::{Arena, Place};
use crate::sort::{self, Item};
use crate::state::State;
use alluvium_codec::entry::{self, Seq};
use std::cmp::Ordering;

/// All entries in order.
pub(crate) struct Sorted {
    pub places: Vec<Place>,
    /// The length of the common prefix of all keys, in bytes.
    skip: usize,
    /// For every [`STEP`]th entry, the bits of its key after the common prefix, so that a search reads few entries.
    marks: Vec<(u64, u64)>,
}

const STEP: usize = 16;

impl Sorted {
    /// Sorts the entries of `state`.
    pub(crate) fn new(state: &State) -> Self {
        let skip = state.common_len();
        let mut items = Vec::with_capacity(state.len());
        for (index, to) in state.arena.chunk_lens().into_iter().enumerate() {
            state.arena.walk(index, 0, to, |place, stored| {
                if stored.kind.is_some() {
                    items.push(Item::new(stored.key, skip, place));
                }
                true
            });
        }
        sort::sort(&state.arena, &mut items);
        let marks = items.iter().step_by(STEP).map(|item| (item.high, item.low)).collect();
        Self { places: items.iter().map(|item| item.place).collect(), skip, marks }
    }

    /// The index of the first entry that is not before (`key`, `seq`).
    pub(crate) fn lower_bound(&self, arena: &Arena, key: &[u8], seq: Seq) -> usize {
        let before = |&place: &Place| entry::compare(arena.key(place), arena.seq(place), key, seq) == Ordering::Less;
        let (from, to) = self.marked_range(arena, key);
        from + self.places[from..to].partition_point(before)
    }

    /// A range of entries that contains the lower bound of `key`, or ends at the lower bound.
    fn marked_range(&self, arena: &Arena, key: &[u8]) -> (usize, usize) {
        let all = (0, self.places.len());
        let Some(&first) = self.places.first() else { return all };
        let common = &arena.key(first)[..self.skip];
        let Some(rest) = key.strip_prefix(common) else { return all };
        let bits = sort::prefix(rest);
        // Entries with the same bits may be before or after the key.
        let from = self.marks.partition_point(|&mark| mark < bits).saturating_sub(1) * STEP;
        let to = self.marks.partition_point(|&mark| mark <= bits) * STEP;
        (from, to.min(all.1))
    }

    /// The memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.marks.capacity() * size_of::<(u64, u64)>()
    }
}

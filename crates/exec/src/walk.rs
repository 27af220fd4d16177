//! The moves of a scan through the entries of an index: from range to range, and past entries
//! outside the bounds.

use crate::entries::EntryRef;
use alluvium_query::plan::{IndexScan, KeyRange, Place};

/// The most combinations of values that ranges express exactly. If there are more combinations,
/// each entry is checked.
const RANGES_MAX: usize = 4096;

/// The next step of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Read the next entry.
    Next,
    /// Seek the beginning of [`Walk::range`] (in a backward scan, its end), then read the next
    /// entry.
    Seek,
    /// There are no more entries within the bounds.
    End,
}

/// The moves of a scan through the entries of an index.
///
/// A source that reads entries repeats these steps: call [`Walk::next_move`]; make the move; then
/// call [`Walk::end_range`] if the range has no more entries, or [`Walk::admits`] with the entry
/// that was read. A source that has read entries ahead discards these at a [`Move::Seek`].
#[derive(Debug)]
pub struct Walk {
    plan: IndexScan,
    /// The remaining ranges, the next one last.
    ranges: Vec<KeyRange>,
    hull: Option<KeyRange>,
    phase: Phase,
    range: KeyRange,
    /// True if the ranges also contain entries outside the bounds.
    loose: bool,
    /// Entries are skipped up to this key. A forward scan continues at the first entry at or above
    /// the key, a backward scan at the first entry below it.
    target: Option<Vec<u8>>,
    /// The number of entries that were skipped one by one on the way to the target.
    skipped: u32,
    jump_after: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    BetweenRanges,
    BeforeSeek,
    InRange,
}

impl Walk {
    /// A walk through the bounds of a plan. After `jump_after` entries were skipped one by one, it
    /// seeks the next entry that may be within the bounds.
    pub fn new(plan: &IndexScan, jump_after: u32) -> Self {
        let mut ranges = plan.ranges();
        let hull = match (ranges.first(), ranges.last()) {
            (Some(first), Some(last)) => Some(KeyRange { from: first.from.clone(), to: last.to.clone() }),
            _ => None,
        };
        if !plan.backward {
            ranges.reverse();
        }
        Self {
            loose: is_loose(plan),
            plan: plan.clone(),
            ranges,
            hull,
            phase: Phase::BetweenRanges,
            range: KeyRange { from: Vec::new(), to: None },
            target: None,
            skipped: 0,
            jump_after,
        }
    }

    /// The plan of the scan, with its bounds.
    pub fn plan(&self) -> &IndexScan {
        &self.plan
    }

    /// True if entries are read from the last to the first.
    pub fn is_backward(&self) -> bool {
        self.plan.backward
    }

    /// The range around all ranges; `None` if there are no entries within the bounds.
    pub fn hull(&self) -> Option<&KeyRange> {
        self.hull.as_ref()
    }

    /// The range to seek. The scan stays in this range until the next [`Move::Seek`]. The ranges of
    /// a forward walk ascend, the ranges of a backward walk descend.
    pub fn range(&self) -> &KeyRange {
        &self.range
    }

    /// The next step.
    #[inline]
    pub fn next_move(&mut self) -> Move {
        if self.phase == Phase::InRange { Move::Next } else { self.begin() }
    }

    fn begin(&mut self) -> Move {
        if self.phase == Phase::BetweenRanges {
            let Some(range) = self.ranges.pop() else { return Move::End };
            self.range = range;
        }
        self.phase = Phase::InRange;
        Move::Seek
    }

    /// Called when the range has no more entries.
    pub fn end_range(&mut self) {
        self.phase = Phase::BetweenRanges;
    }

    /// True if the entry that was read last is within the bounds; false if it is skipped.
    #[inline]
    pub fn admits(&mut self, entry: &EntryRef<'_>) -> bool {
        (self.target.is_none() && !self.loose) || self.admits_slowly(entry)
    }

    fn admits_slowly(&mut self, entry: &EntryRef<'_>) -> bool {
        if let Some(target) = &self.target {
            let is_before =
                if self.plan.backward { entry.bytes >= target.as_slice() } else { entry.bytes < target.as_slice() };
            if is_before {
                self.skipped += 1;
                if self.skipped >= self.jump_after {
                    self.jump();
                }
                return false;
            }
            self.target = None;
        }
        if !self.loose {
            return true;
        }
        match self.plan.place(entry.key()) {
            Place::Within => return true,
            Place::Outside(target) => self.pass_to(target),
            Place::End => self.finish(),
        }
        false
    }

    fn finish(&mut self) {
        self.ranges.clear();
        self.phase = Phase::BetweenRanges;
    }

    /// Skips entries up to a key.
    fn pass_to(&mut self, target: Vec<u8>) {
        // If the range ends before the target, its remaining entries are skipped: the target is in
        // a later range or after all ranges.
        if self.ends_before(&target) {
            self.phase = Phase::BetweenRanges;
        }
        (self.target, self.skipped) = (Some(target), 0);
    }

    fn ends_before(&self, target: &Vec<u8>) -> bool {
        match &self.range.to {
            _ if self.plan.backward => *target <= self.range.from,
            Some(to) => to <= target,
            None => false,
        }
    }

    /// Seeks the target.
    fn jump(&mut self) {
        let Some(target) = self.target.take() else { return };
        if self.ends_before(&target) {
            return self.pass_to(target);
        }
        if self.plan.backward {
            self.range.to = Some(target)
        } else {
            self.range.from = target
        }
        self.phase = Phase::BeforeSeek;
    }

    /// Skips the other entries whose values in the parts up to `part` equal the values of the last
    /// entry. `key` is the index key of that entry.
    pub(crate) fn pass_over_equals(&mut self, key: &[u8], part: usize) {
        match self.plan.behind(key, part) {
            Some(target) => self.pass_to(target),
            None => self.finish(),
        }
    }
}

/// True if entries in the ranges have to be checked against the bounds.
fn is_loose(plan: &IndexScan) -> bool {
    let (mut behind, mut many) = (false, 1usize);
    for part in &plan.bounds {
        if behind && !part.is_all() {
            return true;
        }
        many = many.saturating_mul(part.intervals.len());
        behind |= !part.is_points();
    }
    many > RANGES_MAX
}

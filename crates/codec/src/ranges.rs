//! Range tombstones: half-open ranges of keys that are deleted as of a number.
//!
//! A [`RangeSet`] stores tombstones *fragmented*: as ranges that do not overlap, each with the numbers of the
//! tombstones that cover it. Therefore one binary search finds the numbers of a key, whatever ranges were written. A
//! set never changes; joining and forgetting create a new one.
//!
//! A range needs only the numbers that readers can distinguish: [`thin`] keeps the newest number between each two
//! snapshots. Otherwise ranges that grow with each delete ("everything before now") would take memory by the square of
//! their number.

use crate::entry::Seq;
use crate::error::{DecodeError, Result};
use std::mem::size_of;

/// A range of keys, and the numbers of the tombstones that cover it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    start: Box<[u8]>,
    end: Box<[u8]>,
    seqs: Box<[Seq]>,
}

impl Fragment {
    /// The first covered key.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// The first key after the range; greater than `start`.
    pub fn end(&self) -> &[u8] {
        &self.end
    }

    /// The numbers, newest first; at least one.
    pub fn seqs(&self) -> &[Seq] {
        &self.seqs
    }

    /// The newest number not above `at`; 0 if there is none.
    #[inline]
    pub fn newest(&self, at: Seq) -> Seq {
        newest(&self.seqs, at)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.start.len() + self.end.len() + size_of_val(&*self.seqs)
    }
}

/// The newest of `seqs` that is at most `at`, or 0. `seqs` must be descending.
#[inline]
pub fn newest(seqs: &[Seq], at: Seq) -> Seq {
    seqs.iter().copied().find(|&seq| seq <= at).unwrap_or(0)
}

/// The coverage around a key: all keys from `low` to below `high` are covered by the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage<'a> {
    /// The first key with these numbers; `None` if there is no lower bound.
    pub low: Option<&'a [u8]>,
    /// The first key after the range of keys with these numbers; `None` if there is no upper bound. Covered keys have
    /// an upper bound.
    pub high: Option<&'a [u8]>,
    /// The numbers, newest first; empty if the keys are not covered.
    pub seqs: &'a [Seq],
}

/// A set of range tombstones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// Ordered by key, disjoint. Fragments that touch have different numbers.
    fragments: Vec<Fragment>,
    bytes: usize,
    newest: Seq,
}

/// Removes numbers that no reader can distinguish from newer ones. Of the falling `seqs`, keeps the newest between each
/// two of the ascending `snapshots`, and all numbers above the last snapshot. Without snapshots, keeps all.
pub fn thin(seqs: &mut Vec<Seq>, snapshots: &[Seq]) {
    let mut last = None;
    seqs.retain(|&seq| {
        let stripe = snapshots.partition_point(|&snapshot| snapshot < seq);
        let keep = stripe == snapshots.len() || last != Some(stripe);
        last = Some(stripe);
        keep
    });
}

impl RangeSet {
    /// The keys from `start` to below `end`, deleted as of `seq`; empty if there are no such keys.
    pub fn one(start: &[u8], end: &[u8], seq: Seq) -> Self {
        let mut set = Self::default();
        set.push(start, end, &[seq]);
        set
    }

    /// The union of many sets; see [`RangeSet::join`].
    pub fn union(mut sets: Vec<Self>, snapshots: &[Seq]) -> Self {
        while sets.len() > 1 {
            let joined = sets.chunks(2).map(|pair| match pair {
                [a, b] => a.join(b, snapshots),
                alone => alone.first().cloned().unwrap_or_default(),
            });
            sets = joined.collect();
        }
        sets.pop().unwrap_or_default()
    }

    /// The tombstones of both sets, [thinned](thin) by these snapshots.
    pub fn join(&self, other: &Self, snapshots: &[Seq]) -> Self {
        // Without a limit, the result is never `None`.
        self.join_within(other, snapshots, usize::MAX).unwrap_or_default()
    }

    /// As [`RangeSet::join`]; `None` if the result takes more than `most` bytes. Nested ranges take memory by the
    /// square of their number, so joins of sets read from files set a limit.
    pub fn join_within(&self, other: &Self, snapshots: &[Seq], most: usize) -> Option<Self> {
        self.combine(other, most, |a, b, out| {
            out.extend_from_slice(a);
            out.extend_from_slice(b);
            out.sort_unstable_by(|a, b| b.cmp(a));
            out.dedup();
            thin(out, snapshots);
        })
    }

    /// The same tombstones, [thinned](thin) by these snapshots.
    #[must_use]
    pub fn thinned(&self, snapshots: &[Seq]) -> Self {
        self.join(&Self::default(), snapshots)
    }

    /// The set without the tombstones of `done`: in each range of `done`, removes the tombstones up to its newest
    /// number.
    #[must_use]
    pub fn forget(&self, done: &Self) -> Self {
        self.forget_within(done, usize::MAX).unwrap_or_default()
    }

    /// As [`RangeSet::forget`]; `None` if the result takes more than `most` bytes, which is
    /// possible because a range may be split.
    pub fn forget_within(&self, done: &Self, most: usize) -> Option<Self> {
        self.combine(done, most, |seqs, done, out| {
            let up_to = done.first().copied().unwrap_or(0);
            out.extend(seqs.iter().filter(|&&seq| seq > up_to));
        })
    }

    /// Combines both sets; `merge` appends the numbers of a range that is in one set or both. `None` if the result
    /// takes more than `most` bytes.
    fn combine(&self, other: &Self, most: usize, merge: impl Fn(&[Seq], &[Seq], &mut Vec<Seq>)) -> Option<Self> {
        let (mut a, mut b) = (self.fragments.as_slice(), other.fragments.as_slice());
        let (mut out, mut seqs) = (Self::default(), Vec::new());
        let mut at: &[u8] = &[];
        loop {
            a = after(a, at);
            b = after(b, at);
            let first = [a.first(), b.first()].into_iter().flatten().map(Fragment::start).min();
            let Some(first) = first else { return Some(out) };
            let from = first.max(at);
            let (in_a, to_a) = stretch(a, from);
            let (in_b, to_b) = stretch(b, from);
            let Some(to) = [to_a, to_b].into_iter().flatten().min() else { return Some(out) };
            seqs.clear();
            merge(in_a, in_b, &mut seqs);
            out.push(from, to, &seqs);
            if out.bytes > most {
                return None;
            }
            at = to;
        }
    }

    /// Appends a range after all others, or extends the last one.
    fn push(&mut self, start: &[u8], end: &[u8], seqs: &[Seq]) {
        if start >= end || seqs.is_empty() {
            return;
        }
        self.newest = self.newest.max(seqs[0]);
        if let Some(last) = self.fragments.last_mut()
            && *last.end == *start
            && *last.seqs == *seqs
        {
            self.bytes = self.bytes - last.end.len() + end.len();
            last.end = end.into();
            return;
        }
        let fragment = Fragment { start: start.into(), end: end.into(), seqs: seqs.into() };
        self.bytes += fragment.bytes();
        self.fragments.push(fragment);
    }

    /// The index of the first fragment whose end is after `key`.
    #[inline]
    fn first_after(&self, key: &[u8]) -> usize {
        self.fragments.partition_point(|fragment| *fragment.end <= *key)
    }

    /// The number of the newest tombstone not above `at` that covers `key`; 0 if there is none.
    #[inline]
    pub fn cover(&self, key: &[u8], at: Seq) -> Seq {
        match self.fragments.get(self.first_after(key)) {
            Some(fragment) if *fragment.start <= *key => fragment.newest(at),
            _ => 0,
        }
    }

    /// The coverage around `key`.
    pub fn coverage(&self, key: &[u8]) -> Coverage<'_> {
        let at = self.first_after(key);
        let before = at.checked_sub(1).and_then(|at| self.fragments.get(at)).map(Fragment::end);
        match self.fragments.get(at) {
            Some(f) if *f.start <= *key => Coverage { low: Some(&f.start), high: Some(&f.end), seqs: &f.seqs },
            Some(f) => Coverage { low: before, high: Some(&f.start), seqs: &[] },
            None => Coverage { low: before, high: None, seqs: &[] },
        }
    }

    /// The fragments with at least one key from `low` to `high`, both included.
    pub fn overlapping(&self, low: &[u8], high: &[u8]) -> &[Fragment] {
        let from = self.first_after(low);
        let count = self.fragments[from..].partition_point(|fragment| *fragment.start <= *high);
        &self.fragments[from..from + count]
    }

    /// All fragments, by key.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// The number of fragments.
    pub fn len(&self) -> usize {
        self.fragments.len()
    }

    /// True if nothing is covered.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The newest number of all; 0 if there is none.
    pub fn newest(&self) -> Seq {
        self.newest
    }

    /// The memory held, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Builds a set from ranges in the order of [`RangeSet::fragments`]: by key, disjoint, and the numbers of one fragment
/// falling. The memory is therefore proportional to the input.
#[derive(Debug, Default)]
pub struct RangeSetBuilder {
    set: RangeSet,
    start: Vec<u8>,
    end: Vec<u8>,
    seqs: Vec<Seq>,
}

impl RangeSetBuilder {
    /// Adds the range from `start` to below `end` with a number.
    ///
    /// # Errors
    /// [`DecodeError::Invalid`] if the range is empty, the number is 0, or the range is out of order.
    pub fn add(&mut self, start: &[u8], end: &[u8], seq: Seq) -> Result<()> {
        if start >= end {
            return Err(DecodeError::Invalid("a range without keys"));
        }
        if seq == 0 {
            return Err(DecodeError::Invalid("the number of a range tombstone"));
        }
        if self.start == start && self.end == end && self.seqs.last().is_some_and(|last| *last > seq) {
            self.seqs.push(seq);
            return Ok(());
        }
        if !self.seqs.is_empty() && *self.end > *start {
            return Err(DecodeError::Invalid("range tombstones out of order"));
        }
        self.end_fragment();
        self.start.extend_from_slice(start);
        self.end.extend_from_slice(end);
        self.seqs.push(seq);
        Ok(())
    }

    fn end_fragment(&mut self) {
        self.set.push(&self.start, &self.end, &self.seqs);
        self.start.clear();
        self.end.clear();
        self.seqs.clear();
    }

    /// The set.
    pub fn finish(mut self) -> RangeSet {
        self.end_fragment();
        self.set
    }
}

/// The fragments whose end is after `at`. At most the first fragment of `list` ends at or before `at`.
fn after<'a>(list: &'a [Fragment], at: &[u8]) -> &'a [Fragment] {
    match list.split_first() {
        Some((first, rest)) if *first.end <= *at => rest,
        _ => list,
    }
}

/// The numbers at `from`, and the end of the range that has them. `from` is in or before the first fragment.
fn stretch<'a>(list: &'a [Fragment], from: &[u8]) -> (&'a [Seq], Option<&'a [u8]>) {
    match list.first() {
        Some(first) if *first.start <= *from => (&first.seqs, Some(&first.end)),
        Some(first) => (&[], Some(&first.start)),
        None => (&[], None),
    }
}

#[cfg(test)]
mod tests;

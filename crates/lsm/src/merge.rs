//! The merging iterator: several sorted sources as one, in both directions.
//!
//! A binary heap orders the sources by their current entries. In the common cases (one source ahead
//! for many entries, few sources) a step costs one or two comparisons.

use crate::covers::Pass;
use alluvium_codec::entry::{self, EntryIter, Kind, Seq};
use std::cmp::Ordering;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// Merges sources that share no (key, number) pair.
pub struct Merge<I> {
    sources: Vec<I>,
    /// A heap of indexes of the valid sources: the next entry in `direction` is at the top.
    heap: Vec<usize>,
    direction: Direction,
}

impl<I: EntryIter> Merge<I> {
    /// Merges `sources`; not positioned.
    pub fn new(sources: Vec<I>) -> Self {
        let heap = Vec::with_capacity(sources.len());
        Self { sources, heap, direction: Direction::Forward }
    }

    /// Makes each source release the memory that it holds at its position. Not positioned
    /// afterwards.
    pub(crate) fn release(&mut self, release: impl Fn(&mut I)) {
        self.heap.clear();
        self.sources.iter_mut().for_each(release);
    }

    /// The index of the source that holds the current entry.
    pub fn source(&self) -> Option<usize> {
        self.heap.first().copied()
    }

    /// True if source `a` comes before `b` in the current direction.
    #[inline]
    fn before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.sources[a], &self.sources[b]);
        let order = entry::compare(x.key(), x.seq(), y.key(), y.seq());
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Back => order == Ordering::Greater,
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        let len = self.heap.len();
        loop {
            let mut child = 2 * at + 1;
            if child >= len {
                return;
            }
            if child + 1 < len && self.before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !self.before(self.heap[child], self.heap[at]) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }

    /// Builds the heap from the sources' positions.
    fn rebuild(&mut self, direction: Direction) {
        self.direction = direction;
        self.heap.clear();
        self.heap.extend((0..self.sources.len()).filter(|&at| self.sources[at].valid()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
    }

    /// Restores the heap after the top has moved.
    #[inline]
    fn settle(&mut self) {
        let Some(&top) = self.heap.first() else { return };
        if !self.sources[top].valid() {
            self.heap.swap_remove(0);
        }
        if self.heap.len() > 1 {
            self.sift_down(0);
        }
    }

    /// Moves the source at the top to its next entry in the current direction.
    #[inline]
    fn move_top(&mut self, go: impl FnOnce(&mut I) -> Result<(), I::Error>) -> Result<(), I::Error> {
        let Some(&top) = self.heap.first() else { return Ok(()) };
        if let Err(error) = go(&mut self.sources[top]) {
            self.heap.clear();
            return Err(error);
        }
        self.settle();
        Ok(())
    }

    fn seek_all(
        &mut self,
        direction: Direction,
        mut seek: impl FnMut(&mut I) -> Result<(), I::Error>,
    ) -> Result<(), I::Error> {
        self.heap.clear();
        for source in &mut self.sources {
            seek(source)?;
        }
        self.rebuild(direction);
        Ok(())
    }

    /// Reverses the direction: every source moves to its first entry after the current one in the
    /// new direction.
    fn turn(&mut self, direction: Direction) -> Result<(), I::Error> {
        let Some(&top) = self.heap.first() else { return Ok(()) };
        let (key, seq) = (self.sources[top].key().to_vec(), self.sources[top].seq());
        self.seek_all(direction, |source| {
            source.seek(&key, seq)?;
            match direction {
                Direction::Forward if source.valid() && source.seq() == seq && source.key() == key => source.next(),
                Direction::Forward => Ok(()),
                Direction::Back if source.valid() => source.prev(),
                Direction::Back => source.seek_last(),
            }
        })
    }
}

impl<I: Pass> Pass for Merge<I> {
    /// Moves the source of the current entry; the other sources may follow, one by one.
    fn pass_forward(&mut self, cover: Seq, high: &[u8]) -> Result<(), I::Error> {
        if self.direction == Direction::Back {
            return self.turn(Direction::Forward);
        }
        self.move_top(|source| source.pass_forward(cover, high))
    }

    fn pass_back(&mut self, cover: Seq, low: &[u8]) -> Result<(), I::Error> {
        if self.direction == Direction::Forward {
            return self.turn(Direction::Back);
        }
        self.move_top(|source| source.pass_back(cover, low))
    }
}

impl<I: EntryIter> EntryIter for Merge<I> {
    type Error = I::Error;

    fn seek_first(&mut self) -> Result<(), I::Error> {
        self.seek_all(Direction::Forward, I::seek_first)
    }

    fn seek_last(&mut self) -> Result<(), I::Error> {
        self.seek_all(Direction::Back, I::seek_last)
    }

    fn seek(&mut self, key: &[u8], seq: Seq) -> Result<(), I::Error> {
        self.seek_all(Direction::Forward, |source| source.seek(key, seq))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<(), I::Error> {
        self.seek_all(Direction::Back, |source| source.seek_before(key))
    }

    #[inline]
    fn next(&mut self) -> Result<(), I::Error> {
        if self.direction == Direction::Back {
            return self.turn(Direction::Forward);
        }
        self.move_top(I::next)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), I::Error> {
        if self.direction == Direction::Forward {
            return self.turn(Direction::Back);
        }
        self.move_top(I::prev)
    }

    #[inline]
    fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.heap.first().map_or(&[], |&top| self.sources[top].key())
    }

    #[inline]
    fn seq(&self) -> Seq {
        self.heap.first().map_or(0, |&top| self.sources[top].seq())
    }

    #[inline]
    fn kind(&self) -> Kind {
        self.heap.first().map_or(Kind::Put, |&top| self.sources[top].kind())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.heap.first().map_or(&[], |&top| self.sources[top].value())
    }
}

#[cfg(test)]
mod tests;

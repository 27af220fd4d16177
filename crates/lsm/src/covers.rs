//! Range tombstones over a walk of keys, and walks that skip hidden keys.

use alluvium_codec::entry::{EntryIter, MAX_SEQ, Seq};
use alluvium_codec::ranges::{RangeSet, newest};
use alluvium_env::Result;
use std::sync::Arc;

/// The range tombstones of several sets, for a walk over keys. Remembers the range around the last
/// key, so that a check of the next key costs two comparisons.
pub(crate) struct Covers {
    sets: Vec<Arc<RangeSet>>,
    /// The reader sees tombstones up to this sequence number.
    reader: Seq,
    /// Keys from `low` to below `high` have the same tombstones.
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
    placed: bool,
    /// Newest first.
    seqs: Vec<Seq>,
    /// The newest that the reader sees, or 0.
    newest: Seq,
}

impl Covers {
    /// `None` if there are no tombstones.
    pub fn new(sets: Vec<Arc<RangeSet>>, reader: Seq) -> Option<Self> {
        let covers = Self { sets, reader, low: None, high: None, placed: false, seqs: Vec::new(), newest: 0 };
        (!covers.sets.is_empty()).then_some(covers)
    }

    /// The sequence number of the newest tombstone over `key` that the reader sees, or 0.
    #[inline]
    pub fn newest(&mut self, key: &[u8]) -> Seq {
        let inside =
            self.low.as_deref().is_none_or(|low| low <= key) && self.high.as_deref().is_none_or(|high| key < high);
        if !(self.placed && inside) {
            self.place(key);
        }
        self.newest
    }

    /// The numbers of all tombstones over `key`, newest first.
    #[inline]
    pub fn seqs(&mut self, key: &[u8]) -> &[Seq] {
        self.newest(key);
        &self.seqs
    }

    #[cold]
    fn place(&mut self, key: &[u8]) {
        self.seqs.clear();
        let (mut low, mut high) = (None, None);
        for set in &self.sets {
            let place = set.coverage(key);
            low = low.max(place.low);
            high = match (high, place.high) {
                (Some(a), Some(b)) => Some(std::cmp::min(a, b)),
                (a, b) => a.or(b),
            };
            self.seqs.extend_from_slice(place.seqs);
        }
        (self.low, self.high) = (low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec));
        self.seqs.sort_unstable_by(|a, b| b.cmp(a));
        self.newest = newest(&self.seqs, self.reader);
        self.placed = true;
    }

    /// The first key of the range around the last key; up to `high`, all keys have the same
    /// tombstones.
    pub fn low(&self) -> &[u8] {
        self.low.as_deref().unwrap_or(&[])
    }

    /// Returns the end of the range. Called only if the last key is covered, because the range then
    /// has an end.
    pub fn high(&self) -> &[u8] {
        self.end().unwrap_or(&[])
    }

    /// The end of the range, if the range has one.
    pub fn end(&self) -> Option<&[u8]> {
        self.high.as_deref()
    }
}

/// A walk that can skip entries that a range tombstone hides, without visiting each of them.
pub(crate) trait Pass: EntryIter {
    /// Called on an entry that the tombstone `cover` hides; this tombstone covers all keys up to
    /// `high`. Moves forward, at most over entries that the tombstone hides.
    fn pass_forward(&mut self, cover: Seq, high: &[u8]) -> std::result::Result<(), Self::Error>;

    /// As [`Pass::pass_forward`], for backward scans, in which the tombstone covers all keys at or
    /// above `low`.
    fn pass_back(&mut self, cover: Seq, low: &[u8]) -> std::result::Result<(), Self::Error>;
}

impl Pass for alluvium_memtable::MemtableIter {
    fn pass_forward(&mut self, cover: Seq, high: &[u8]) -> Result<()> {
        if self.is_below(cover) { self.seek(high, MAX_SEQ) } else { self.next() }
    }

    fn pass_back(&mut self, cover: Seq, low: &[u8]) -> Result<()> {
        if self.is_below(cover) { self.seek_before(low) } else { self.prev() }
    }
}

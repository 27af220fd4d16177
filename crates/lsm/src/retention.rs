//! Which versions a flush or compaction keeps.
//!
//! The live snapshots divide the sequence numbers into stripes. Stripe 0 ends at the oldest
//! snapshot, and the last stripe ends at *visible*, which counts as a snapshot. Among the versions
//! of a key in one stripe, only the newest can be read, now or later: a snapshot taken after the
//! list was made is at *visible* or above. Versions above *visible* are all kept.
//!
//! A delta does not hide older versions: the versions of a stripe are read down to its newest full
//! write, and form a chain with it.
//!
//! A range tombstone hides all older entries of its keys. An entry that a tombstone of its own
//! stripe hides cannot be read. An entry that only tombstones of newer stripes hide is kept for the
//! snapshots in between.
//!
//! A tombstone hides older versions. It is dropped only if its stripe is 0, so that every older
//! version in the same input is dropped with it, and if no older version can be in runs below.

use crate::covers::Covers;
use alluvium_codec::entry::{Kind, Seq};
use alluvium_codec::ranges::RangeSet;
use std::sync::Arc;

/// The last reader of an entry that future snapshots may read.
pub(crate) const FOR_EVER: Seq = Seq::MAX;

/// The treatment of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Copy: it is the newest of its key in the input.
    Keep,
    /// Copy: a newer version of its key was kept. The number is the highest snapshot that still
    /// reads this version, or [`FOR_EVER`] if a future snapshot may read it.
    KeepShadowed(Seq),
    /// A tombstone that no snapshot needs: drop it if nothing older can be below.
    DropIfBottom,
    /// A delta, the newest version of its stripe: it begins a chain.
    ChainStart {
        /// Set if a newer version of its key was kept, as in [`Verdict::KeepShadowed`].
        shadowed: Option<Seq>,
    },
    /// A delta that continues the chain of its stripe.
    Chain,
    /// The full write below the chain of its stripe.
    Base {
        /// The stripe is the oldest: no snapshot is older.
        oldest: bool,
    },
    /// Drop: no reader can see it.
    Drop,
}

/// Decides about each entry. Entries must be passed in entry order.
pub(crate) struct Retention {
    /// Ascending.
    snapshots: Vec<Seq>,
    key: Vec<u8>,
    /// The stripe of the last version seen of `key`; `None` before the first entry.
    stripe: Option<usize>,
    /// All versions seen of `key` in the stripe were deltas.
    open: bool,
    /// The durable range tombstones, as the oldest snapshot sees them.
    covers: Option<Covers>,
}

impl Retention {
    /// Decides for these live snapshots, ascending; the last one is *visible*.
    pub fn new(mut snapshots: Vec<Seq>) -> Self {
        snapshots.sort_unstable();
        Self { snapshots, key: Vec::new(), stripe: None, open: false, covers: None }
    }

    /// Also takes these range tombstones into account. They must become durable before the output
    /// does.
    pub fn with_ranges(mut self, mut sets: Vec<Arc<RangeSet>>) -> Self {
        sets.retain(|set| !set.is_empty());
        self.covers = Covers::new(sets, self.oldest());
        self
    }

    /// The oldest snapshot; 0 if the list is empty.
    pub fn oldest(&self) -> Seq {
        self.snapshots.first().copied().unwrap_or(0)
    }

    /// If a range tombstone that every snapshot sees hides the entry, returns the number of the
    /// tombstone and the end of its keys.
    #[inline]
    pub fn passes(&mut self, key: &[u8], seq: Seq) -> Option<(Seq, &[u8])> {
        let covers = self.covers.as_mut()?;
        let cover = covers.newest(key);
        (seq < cover).then(|| (cover, covers.high()))
    }

    /// True if a range tombstone with any number covers the key.
    pub fn is_covered(&mut self, key: &[u8]) -> bool {
        self.covers.as_mut().is_some_and(|covers| !covers.seqs(key).is_empty())
    }

    /// Decides about the next entry as [`Retention::judge`] does, with range tombstones.
    #[inline]
    pub fn judge_covered(&mut self, key: &[u8], seq: Seq, kind: Kind) -> Verdict {
        let over = match &mut self.covers {
            // The oldest tombstone that hides the entry.
            Some(covers) => covers.seqs(key).iter().rev().copied().find(|&over| over > seq),
            None => None,
        };
        match over.map(|over| (self.stripe_of(seq), self.stripe_of(over))) {
            Some((stripe, over)) if stripe == over && stripe < self.snapshots.len() => Verdict::Drop,
            _ => self.judge(key, seq, kind),
        }
    }

    /// *Visible*, the last of the list.
    pub fn visible(&self) -> Seq {
        self.snapshots.last().copied().unwrap_or(0)
    }

    #[inline]
    fn stripe_of(&self, seq: Seq) -> usize {
        match self.snapshots.first() {
            Some(&oldest) if seq <= oldest => 0,
            _ => self.snapshots.partition_point(|&snapshot| snapshot < seq),
        }
    }

    /// Decides about the next entry.
    #[inline]
    pub fn judge(&mut self, key: &[u8], seq: Seq, kind: Kind) -> Verdict {
        let stripe = self.stripe_of(seq);
        let above_visible = stripe == self.snapshots.len();
        if let Some(before) = self.stripe
            && key == self.key
        {
            self.stripe = Some(stripe);
            if before == stripe && !above_visible {
                return self.below_in_stripe(kind, stripe);
            }
            return self.first_in_stripe(kind, stripe, Some(self.last_reader(before)));
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.stripe = Some(stripe);
        self.first_in_stripe(kind, stripe, None)
    }

    /// The highest snapshot that reads a version, if the next newer version is in this stripe.
    #[inline]
    fn last_reader(&self, newer: usize) -> Seq {
        match newer.checked_sub(1).and_then(|at| self.snapshots.get(at)) {
            Some(&reader) if newer < self.snapshots.len() => reader,
            _ => FOR_EVER,
        }
    }

    #[inline]
    fn below_in_stripe(&mut self, kind: Kind, stripe: usize) -> Verdict {
        match (self.open, kind) {
            (false, _) => Verdict::Drop,
            (true, Kind::Delta) => Verdict::Chain,
            (true, _) => {
                self.open = false;
                Verdict::Base { oldest: self.is_oldest(stripe) }
            }
        }
    }

    #[inline]
    fn first_in_stripe(&mut self, kind: Kind, stripe: usize, shadowed: Option<Seq>) -> Verdict {
        // Versions that no snapshot sees yet are kept one by one.
        self.open = kind == Kind::Delta && stripe < self.snapshots.len();
        match (kind, shadowed) {
            (Kind::Delete, _) if self.is_oldest(stripe) => Verdict::DropIfBottom,
            (Kind::Delta, _) if self.open => Verdict::ChainStart { shadowed },
            (_, Some(until)) => Verdict::KeepShadowed(until),
            (_, None) => Verdict::Keep,
        }
    }

    /// True if every snapshot sees the last judged entry, or a newer one of its key.
    pub fn seen_by_all(&self) -> bool {
        self.stripe.is_some_and(|stripe| self.is_oldest(stripe))
    }

    fn is_oldest(&self, stripe: usize) -> bool {
        stripe == 0 && !self.snapshots.is_empty()
    }
}

#[cfg(test)]
mod tests;

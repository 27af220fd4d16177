//! Which versions a flush or compaction keeps.
//!
//! The live snapshots cut the numbers into stripes: stripe 0 ends at the oldest snapshot, the
//! last one at *visible*, which counts as a snapshot. Of the versions of a key that lie in one
//! stripe only the newest can be read, now or later: a snapshot taken after the list was made
//! lies at *visible* or above. Versions above *visible* are all kept.
//!
//! A tombstone hides what is older. It goes only when its stripe is 0, so that every older
//! version in the same input goes with it, and nothing older can lie in runs below.

use codec::entry::{Kind, Seq};

/// What to do with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the newest of its key here.
    Keep,
    /// A newer version of its key was kept, and some snapshot still reads this one.
    KeepShadowed,
    /// A tombstone that no snapshot needs; it goes if nothing older can lie below.
    DropIfBottom,
    /// Nobody can read it.
    Drop,
}

/// Decides entry by entry; entries come in entry order.
pub(crate) struct Retention {
    /// Ascending.
    snapshots: Vec<Seq>,
    key: Vec<u8>,
    /// The stripe of the last version seen of `key`; `None` before the first entry.
    stripe: Option<usize>,
}

impl Retention {
    /// Decides under these live snapshots, ascending, of which the last is *visible*.
    pub fn new(mut snapshots: Vec<Seq>) -> Self {
        snapshots.sort_unstable();
        Self { snapshots, key: Vec::new(), stripe: None }
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
            return if before == stripe && !above_visible { Verdict::Drop } else { self.kept(kind, stripe, true) };
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.stripe = Some(stripe);
        self.kept(kind, stripe, false)
    }

    fn kept(&self, kind: Kind, stripe: usize, shadowed: bool) -> Verdict {
        match kind {
            Kind::Delete if stripe == 0 && !self.snapshots.is_empty() => Verdict::DropIfBottom,
            _ if shadowed => Verdict::KeepShadowed,
            _ => Verdict::Keep,
        }
    }
}

#[cfg(test)]
mod tests;

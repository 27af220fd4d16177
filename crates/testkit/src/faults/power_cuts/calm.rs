//! Selects the changes before which the power is cut, in sequences that grow a database.

use super::PointKind;
use crate::replay::seed;
use alluvium_env::sync::Mutex;
use std::collections::BTreeMap;
use std::time::Instant;

/// The size of a sequence that first grows a database.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The number of documents before the first cut.
    pub documents: u32,
    /// The maximum number of cuts. Each cut reads the whole database several times.
    pub cuts: u64,
    /// True for the file and memtable sizes of large databases, instead of random small ones.
    pub usual_tuning: bool,
}

impl Size {
    /// The default size.
    pub const USUAL: Self = Self { documents: 3_000, cuts: 40, usual_tuning: false };

    /// The size for a seed of a run with a time limit.
    pub fn large(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x1a26e);
        let (documents, cuts) = [(3_000, 200), (3_000, 200), (8_000, 100), (30_000, 60)][rng.usize(0..4)];
        // With files of a few hundred bytes there would be tens of thousands of files, and every version would list
        // them all.
        Self { documents, cuts, usual_tuning: rng.bool() || documents > 8_000 }
    }
}

/// Cuts nothing before the database has grown. After that, cuts the power before some changes of each kind, mostly the
/// first ones.
pub(super) struct Calm {
    most: u64,
    /// The number of changes that are cut out of four candidates.
    of_4: u8,
    started: Instant,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    grown: bool,
    kinds: BTreeMap<PointKind, u64>,
    cuts: u64,
}

impl Calm {
    pub(super) fn new(size: Size) -> Self {
        let of_4 = if size.cuts > Size::USUAL.cuts { 3 } else { 1 };
        Self { most: size.cuts, of_4, started: seed::now(), seen: Mutex::default() }
    }

    /// Marks the database as grown.
    pub(super) fn end(&self) {
        self.seen.lock().grown = true;
    }

    /// True if the power is to be cut before this change.
    pub(super) fn cuts(&self, kind: PointKind, seed: u64) -> bool {
        let mut seen = self.seen.lock();
        let too_late = seed::requested_seconds().is_some() && !seed::has_time(self.started);
        if !seen.grown || seen.cuts == self.most || too_late {
            return false;
        }
        let count = seen.kinds.entry(kind).or_default();
        *count += 1;
        let (phase, file, op) = kind;
        // Of each kind, a selection of the first change, the second, the fourth and so on, which differs between
        // sequences.
        let mixed = seed ^ (phase as u64) << 40 ^ (file as u64) << 50 ^ (op as u64) << 56 ^ *count;
        let taken = count.is_power_of_two() && fastrand::Rng::with_seed(mixed).u8(0..4) < self.of_4;
        seen.cuts += u64::from(taken);
        taken
    }
}

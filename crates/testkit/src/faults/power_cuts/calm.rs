//! Which changes are cut in sequences that let a database grow.

use super::PointKind;
use crate::replay::seed;
use alluvium_env::sync::Mutex;
use std::collections::BTreeMap;
use std::time::Instant;

/// How large a calm sequence is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Documents of the database before anything is cut.
    pub documents: u32,
    /// Cuts, at most: each reads the whole database, several times.
    pub cuts: u64,
    /// Sizes of files and memtables are those of large databases, not small ones by chance.
    pub usual_tuning: bool,
}

impl Size {
    /// The default.
    pub const USUAL: Self = Self { documents: 3_000, cuts: 40, usual_tuning: false };

    /// Of a seed that is run as long as there is time.
    pub fn large(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x1a26e);
        let (documents, cuts) = [(3_000, 200), (3_000, 200), (8_000, 100), (30_000, 60)][rng.usize(0..4)];
        // Files of some hundred bytes would be tens of thousands, each in every version.
        Self { documents, cuts, usual_tuning: rng.bool() || documents > 8_000 }
    }
}

/// Nothing is cut before the database has grown; then some changes of each kind, the first ones mostly.
pub(super) struct Calm {
    most: u64,
    /// Of four changes that may be cut, this many are.
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

    /// The database is large now.
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
        // The first, the second, the fourth, ..., of each kind, and of these a part: others in each sequence.
        let mixed = seed ^ (phase as u64) << 40 ^ (file as u64) << 50 ^ (op as u64) << 56 ^ *count;
        let taken = count.is_power_of_two() && fastrand::Rng::with_seed(mixed).u8(0..4) < self.of_4;
        seen.cuts += u64::from(taken);
        taken
    }
}

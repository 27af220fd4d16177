//! Which changes are cut in sequences that let a database grow.

use super::PointKind;
use env::sync::Mutex;
use std::collections::BTreeMap;

/// So many cuts a sequence has at most: each reads the whole database, several times.
const MOST: u64 = 40;

/// Nothing is cut before the database has grown; then some changes of each kind, the first ones mostly.
#[derive(Default)]
pub(super) struct Calm(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    grown: bool,
    kinds: BTreeMap<PointKind, u64>,
    cuts: u64,
}

impl Calm {
    /// The database is large now.
    pub(super) fn end(&self) {
        self.0.lock().grown = true;
    }

    /// True if the power is to be cut before this change.
    pub(super) fn cuts(&self, kind: PointKind, seed: u64) -> bool {
        let mut seen = self.0.lock();
        if !seen.grown || seen.cuts == MOST {
            return false;
        }
        let count = seen.kinds.entry(kind).or_default();
        *count += 1;
        let (phase, file, op) = kind;
        // The first, the second, the fourth, ..., of each kind, and of these a quarter: others in each sequence.
        let mixed = seed ^ (phase as u64) << 40 ^ (file as u64) << 50 ^ (op as u64) << 56 ^ *count;
        let taken = count.is_power_of_two() && fastrand::Rng::with_seed(mixed).u8(0..4) == 0;
        seen.cuts += u64::from(taken);
        taken
    }
}

//! Power cuts before changes to the disk. After each cut, the disk has one of the promised states, and accepts writes.

use super::{Cut, KvRunner, Options, open, options, read};
use crate::marks;
use crate::worlds::World;
use alluvium::Durability;
use alluvium_env::fault::Op;
use alluvium_env::mem::CrashStyle;
use alluvium_env::sync::Mutex;
use std::sync::Arc;

/// With [`Cuts::Some`], the power is cut before one in this many changes.
const CUT_EVERY: u64 = 24;
/// The number of parts into which the changes of a sequence are divided; see [`Cuts::Part`].
pub const PARTS: u64 = 8;
/// With [`Cuts::Part`], one in this many cuts is followed by a cut at every change of the recovery.
const CUT_RECOVERY_EVERY: u32 = 40;
/// The styles of power cuts.
const STYLES: [CrashStyle; 3] = [CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept];

/// The changes to the disk before which the power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cuts {
    /// Before no change.
    None,
    /// Before some random changes.
    Some,
    /// Before the changes of one of [`PARTS`] parts, with any durability; all parts together contain every change.
    /// After some cuts, the power is also cut at every change of the recovery.
    Part(u64),
}

impl Cuts {
    /// Options for a store with such power cuts.
    pub(super) fn options(self, rng: &mut fastrand::Rng, partitions: u32, background: bool) -> Options {
        let options = options(rng, partitions, background);
        match self {
            Self::Part(_) if rng.u8(0..3) == 0 => Options { durability: Durability::Bulk, ..options },
            _ => options,
        }
    }
}

impl KvRunner {
    /// Installs a hook that cuts the power before changes that the seed determines.
    pub(super) fn begin_cuts(&self, seed: u64) {
        let cutting = self.cutting;
        if cutting == Cuts::None {
            return;
        }
        let (mem, timeline, into) = (self.world.mem.clone(), self.timeline.clone(), self.cuts.clone());
        self.world.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            let mut rng = fastrand::Rng::with_seed(seed.rotate_left(24) ^ op.number);
            let cuts = match cutting {
                Cuts::Part(part) => op.number % PARTS == part,
                _ => rng.u64(0..CUT_EVERY) == 0,
            };
            if !cuts {
                return;
            }
            let style = STYLES[rng.usize(0..3)];
            let disk = World::over(mem.crash_clone(rng.u64(..), style), rng.u64(..));
            let words = format!("cut ({style:?}) before {:?} of {}", op.kind, op.path.display());
            let (allowed, beside) = {
                let timeline = timeline.lock();
                (timeline.states.clone(), timeline.beside.clone())
            };
            into.lock().push(Cut { disk, allowed, beside, words });
        })));
    }

    /// Opens the disks of all power cuts, and checks them.
    pub(super) fn check_cuts(&mut self) {
        let cuts = std::mem::take(&mut *self.cuts.lock());
        for cut in cuts {
            if matches!(self.cutting, Cuts::Part(_)) && self.rng.u32(0..CUT_RECOVERY_EVERY) == 0 {
                self.cut_recovery(&cut);
            }
            self.check_cut(&cut);
            self.check_beside(&cut);
        }
    }

    /// Checks that the disk has one of the allowed states, and keeps it when files are merged.
    fn check_cut(&mut self, cut: &Cut) {
        let options = options(&mut self.rng, self.partitions, false);
        let store = open(&cut.disk, &options);
        let found = read(&store, &store.snapshot());
        let is_one = cut.allowed.iter().any(|state| **state == found);
        assert!(is_one, "{}: none of {} states is found", cut.words, cut.allowed.len());
        store.compact().unwrap_or_else(|e| panic!("{}: {e}", cut.words));
        let damage = store.verify().unwrap_or_else(|e| panic!("{}: {e}", cut.words));
        assert!(damage.is_empty(), "{}: {damage:?}", cut.words);
        assert!(read(&store, &store.snapshot()) == found, "{}: it changes when files are merged", cut.words);
    }

    /// Cuts the power again before every change of the recovery.
    fn cut_recovery(&mut self, cut: &Cut) {
        let first = cut.disk.killed();
        let again: Arc<Mutex<Vec<(World, String)>>> = Arc::default();
        let (mem, into, seed) = (first.mem.clone(), again.clone(), self.rng.u64(..));
        first.faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
            let style = STYLES[(seed.wrapping_add(op.number) % 3) as usize];
            let disk = World::over(mem.crash_clone(seed ^ op.number, style), seed);
            into.lock().push((disk, format!("({style:?}) before {:?} of {}", op.kind, op.path.display())));
        })));
        let options = options(&mut self.rng, self.partitions, false);
        drop(open(&first, &options));
        first.faults.set_hook(None);
        let again = std::mem::take(&mut *again.lock());
        for (disk, words) in again {
            marks::CRASH_DURING_RECOVERY.hit();
            let words = format!("{}; second cut {words}", cut.words);
            self.check_cut(&Cut { disk, allowed: cut.allowed.clone(), beside: Vec::new(), words });
        }
    }
}

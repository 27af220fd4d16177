//! The system calls of the real program are recorded with `strace` and repeated on a simulated disk. The power of this
//! disk is cut between two calls: as DURABILITY assumes, sectors, lengths and names may be lost separately. Each disk
//! must open without damage, and have each document as the acknowledged commands have left it.
//!
//! Without `strace` (or the permission to trace) the test prints this and ends; with `ALLUVIUM_STRACE=1` it fails
//! instead.

use crate::common::Place;
use crate::script::{Script, acknowledged, check};
use crate::traced::{Call, Replay, Trace};
use alluvium_env::mem::CrashStyle;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_testkit::seed;
use std::cell::Cell;
use std::sync::Arc;

const NAME: &str = "-p alluvium-cli --test all a_power_cut_of_the_program_keeps_what_it_acknowledged";

/// The number of power cuts in one recorded run.
const CUTS: usize = 100;

#[test]
fn a_power_cut_of_the_program_keeps_what_it_acknowledged() {
    let cuts = Cell::new(0);
    seed::each(NAME, 0, 2, |seed| {
        let place = Place::new();
        let script = Script::new(seed, &place);
        // The least memory with which a new database has four partitions.
        let arguments = ["shell", "db", "--create", "--strict", "--memory", "64M"];
        let Some(trace) = Trace::record(&place, &arguments, script.text.as_bytes()) else { return };
        let (root, calls) = (place.path(""), trace.calls());
        let changes = calls.iter().filter(|call| !matches!(call, Call::Print(_))).count();
        assert!(changes > 100, "{changes} calls");
        let mut rng = fastrand::Rng::with_seed(seed);
        // Just before a sync, most writes can be lost, so half of the cuts are there.
        let syncs: Vec<usize> = (0..calls.len()).filter(|at| matches!(calls[*at], Call::Sync(_))).collect();
        let mut any = || if rng.bool() { rng.usize(0..=calls.len()) } else { syncs[rng.usize(0..syncs.len())] };
        let mut at: Vec<usize> = std::iter::repeat_with(&mut any).take(CUTS).collect();
        at.sort_unstable();
        let mut replay = Replay::new(&root);
        let mut done = 0;
        for cut in at {
            calls[done..cut].iter().for_each(|call| replay.carry_out(call));
            done = cut;
            let style = if rng.u8(0..4) == 0 { CrashStyle::AllLost } else { CrashStyle::Any };
            let disk = replay.disk().crash_clone(rng.u64(..), style);
            let (clock, rng) = (Arc::new(ManualClock::new()), Arc::new(SeededRng::new(seed)));
            let env = Env { fs: Arc::new(disk), clock, rng };
            let acknowledged = acknowledged(replay.printed());
            check(env, &root.join("db"), &script, acknowledged..=acknowledged);
            cuts.set(cuts.get() + 1);
        }
    });
    seed::tally("power cuts of the program", cuts.get());
}

//! The seed alone determines a run: the same files are changed in the same way and in the same order, even with several
//! threads under the seeded scheduler. Otherwise a seed could not repeat a failure.

#![allow(clippy::disallowed_types)]

use alluvium_env::fault::Op;
use alluvium_testkit::runner::MakeHook;
use alluvium_testkit::{Mix, Runner, seed};
use std::sync::{Arc, Mutex};

#[cfg(not(feature = "shuttle"))]
const SEEDS: u64 = 60;
#[cfg(feature = "shuttle")]
const SEEDS: u64 = 4;

/// Runs the sequence of a seed, and records the changes that it makes to the disk.
fn run(seed: u64, changes: &Arc<Mutex<Vec<String>>>) {
    let trace = changes.clone();
    let make: MakeHook = Box::new(move |_, _| {
        let trace = trace.clone();
        Arc::new(move |op: &Op<'_>| trace.lock().unwrap().push(format!("{:?} {:?} {:?}", op.kind, op.path, op.bytes)))
    });
    let mut runner = Runner::with_hook(seed, Mix::All, None, cfg!(feature = "shuttle"), false, Some(make));
    runner.run(&(0..100).collect::<Vec<_>>());
    runner.finish();
}

/// The changes to the disk in the sequence of a seed, as text.
fn changes(seed: u64) -> Vec<String> {
    let changes = Arc::default();
    #[cfg(not(feature = "shuttle"))]
    run(seed, &changes);
    #[cfg(feature = "shuttle")]
    {
        let changes = Arc::clone(&changes);
        alluvium_env::schedules::run(seed, move || run(seed, &changes));
    }
    std::mem::take(&mut changes.lock().unwrap())
}

#[test]
fn a_seed_repeats_its_run() {
    seed::each("a_seed_repeats_its_run", 0, SEEDS, |seed| {
        let (first, second) = (changes(seed), changes(seed));
        let differ = first.iter().zip(&second).position(|(a, b)| a != b);
        let shown = |all: &[String]| differ.map(|at| all[at.saturating_sub(3)..=at].join("\n"));
        assert_eq!(shown(&first), shown(&second), "the runs differ");
        assert_eq!(first.len(), second.len(), "one run is longer");
        assert!(first.len() > 100, "it does something");
    });
}

use super::*;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::thread::spawn;
use std::sync::Mutex as Real;

/// Two threads that add, without a lock around the load and the store: sometimes one addition is
/// lost.
fn race() -> u64 {
    let sum = Arc::new(AtomicU64::new(0));
    let add = || {
        let sum = sum.clone();
        spawn("adder", move || sum.store(sum.load(Ordering::SeqCst) + 1, Ordering::SeqCst))
    };
    let threads = [add(), add()];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    sum.load(Ordering::SeqCst)
}

/// The results of the race under each schedule of a seed.
#[allow(clippy::disallowed_types)]
fn outcomes(seed: u64) -> Vec<u64> {
    let found: Arc<Real<Vec<u64>>> = Arc::default();
    let into = found.clone();
    run(seed, move || into.lock().unwrap().push(race()));
    let found = found.lock().unwrap();
    found.clone()
}

#[test]
fn a_seed_gives_the_same_schedules_again() {
    for seed in 0..20 {
        assert_eq!(outcomes(seed), outcomes(seed), "seed {seed}");
    }
    let all: Vec<_> = (0..20).map(outcomes).collect();
    assert!(all.iter().any(|found| found != &all[0]), "seeds differ");
}

#[test]
fn both_kinds_of_schedules_find_a_race() {
    for kind in 0..2 {
        assert!((0..20).any(|seed| outcomes(2 * seed + kind).contains(&1)), "seeds of kind {kind}");
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn threads_that_wait_for_each_other_are_found() {
    check("env", 400, || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = locks.clone();
        let thread = spawn("other", move || {
            let _second = other.1.lock();
            let _first = other.0.lock();
        });
        let first = locks.0.lock();
        let second = locks.1.lock();
        drop((first, second));
        thread.join().unwrap();
    });
}

#[test]
fn the_seeds_are_those_requested() {
    let usual = Request { replayed: None, first: 100, count: 2, limit: None };
    assert_eq!([0, 1, 2].map(|done| usual.next(done, Duration::ZERO)), [Some(100), Some(101), None]);
    let timed = Request { limit: Some(Duration::from_secs(1)), ..usual };
    assert_eq!([0, 1].map(|seconds| timed.next(7, Duration::from_secs(seconds))), [Some(107), None]);
    let replayed = Request { replayed: Some(5), ..timed };
    assert_eq!([0, 1].map(|done| replayed.next(done, Duration::ZERO)), [Some(5), None]);
}

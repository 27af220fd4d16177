#![allow(clippy::disallowed_methods)]

use super::*;
use alluvium_env::ManualClock;

fn visibility(max_age: u64) -> (Arc<Visibility>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new());
    (Visibility::new(10, clock.clone(), Duration::from_secs(max_age)), clock)
}

#[test]
fn visible_moves_only_when_all_before_are_applied() {
    let (v, _) = visibility(60);
    let a = v.enter(12);
    let b = v.enter(15);
    let waiter = {
        let v = v.clone();
        std::thread::spawn(move || v.applied(b))
    };
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(v.visible(), 10, "a batch is not visible before the one ahead of it");
    v.applied(a).unwrap();
    waiter.join().unwrap().unwrap();
    assert_eq!(v.visible(), 15);
}

#[test]
fn a_failure_wakes_waiters_with_an_unknown_outcome() {
    let (v, _) = visibility(60);
    let _never = v.enter(12);
    let b = v.enter(15);
    let waiter = {
        let v = v.clone();
        std::thread::spawn(move || v.applied(b))
    };
    std::thread::sleep(Duration::from_millis(20));
    v.fail(&Error::Closed);
    assert!(matches!(waiter.join().unwrap(), Err(Error::OutcomeUnknown(_))));
}

#[test]
fn live_numbers_are_snapshots_and_visible() {
    let (v, _) = visibility(60);
    let s = v.snapshot();
    let t = v.enter(20);
    v.applied(t).unwrap();
    let s2 = v.snapshot();
    assert_eq!(v.live(), [10, 20]);
    drop(s2.clone());
    drop(s2);
    drop(s);
    assert_eq!(v.live(), [20]);
}

#[test]
fn an_old_snapshot_ends_by_name() {
    let (v, clock) = visibility(60);
    let s = v.snapshot();
    clock.advance(Duration::from_secs(61));
    let young = v.snapshot();
    assert_eq!(v.end_old(), 1);
    assert!(matches!(s.check(), Err(Error::SnapshotTooOld)));
    young.check().unwrap();
}

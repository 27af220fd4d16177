use super::*;
use alluvium_env::ManualClock;
use alluvium_lsm::Budget;

#[test]
fn the_rate_falls_evenly_and_meets_the_drain_between_free_and_full() {
    let drain = 100e6;
    assert_eq!(allowed_rate(FREE, drain), 2.0 * drain);
    assert_eq!(allowed_rate(0.75, drain), drain);
    let mut last = f64::MAX;
    for step in 0..=50 {
        let rate = allowed_rate(FREE + f64::from(step) / 100.0, drain);
        assert!(rate <= last, "more debt never means a higher rate");
        assert!(last == f64::MAX || last - rate <= 0.05 * drain, "no threshold that flips");
        last = rate;
    }
    assert!(last > 0.0, "a writer always ends its wait");
}

#[test]
fn a_failed_compaction_refuses_no_writer_that_waits_for_a_flush() {
    let debt = Debt::new(Arc::from([]), Budget::with_shares(8 << 20, 2 << 20, 0), 8 << 20, 2 << 20);
    let admission = Admission::new(Arc::default(), Arc::new(ManualClock::new()), debt, 1 << 20);
    let set = |sealed: f64, runs: f64| {
        admission.debt.set(sealed, runs);
    };
    let refused = || admission.in_vain(&admission.state.lock(), 100).map(|cause| cause.to_string());
    let failed = |what: &str| Error::WorkerFailed(what.to_owned());
    admission.blocked(BackgroundWork::Compaction, failed("merging"));
    set(2.0, 0.5);
    assert_eq!(refused(), None, "the flush makes progress");
    set(0.5, 1.0);
    assert_eq!(refused(), Some(failed("merging").to_string()));
    admission.blocked(BackgroundWork::Flush, failed("flushing"));
    set(0.5, 0.5);
    assert_eq!(refused(), None, "there is room");
    set(2.0, 0.5);
    assert_eq!(refused(), Some(failed("flushing").to_string()));
    admission.compacted();
    set(0.5, 1.0);
    assert_eq!(refused(), None, "a later compaction succeeded");
    set(2.0, 0.5);
    admission.flushed(1, Duration::from_secs(1));
    assert_eq!(refused(), None, "a later flush succeeded");
}

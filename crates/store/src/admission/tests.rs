use super::*;

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

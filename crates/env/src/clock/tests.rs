#![cfg(not(feature = "shuttle"))]

use super::*;

#[test]
fn the_manual_clock_moves_only_by_advance() {
    let clock = ManualClock::new();
    assert_eq!((clock.now(), clock.unix_millis()), (Duration::ZERO, MANUAL_EPOCH_MS));
    clock.advance(Duration::from_micros(1500));
    clock.advance(Duration::from_micros(500));
    assert_eq!((clock.now(), clock.unix_millis()), (Duration::from_millis(2), MANUAL_EPOCH_MS + 2));
}

#[test]
fn the_machine_clock_advances() {
    let clock = OsClock::new();
    let (first, wall) = (clock.now(), clock.unix_millis());
    while clock.now() == first {}
    assert!(clock.now() > first);
    assert!(wall > MANUAL_EPOCH_MS - 10 * 365 * 86_400_000 && clock.unix_millis() >= wall - 1000);
}

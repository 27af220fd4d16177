use super::*;
use alluvium_env::ManualClock;
use std::sync::Arc;

#[test]
fn only_the_sixth_failure_within_a_minute_is_slow() {
    let clock = Arc::new(ManualClock::new());
    let failures = Failures::new(Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(1) });
    let of = |address: &str, user: &str| [Source::Address(address.to_owned()), Source::User(user.to_owned())];
    for _ in 0..4 {
        failures.add(of("::1", "a.x"));
    }
    assert_eq!(failures.delay(&of("::1", "a.x")), Duration::ZERO);
    failures.add(of("::1", "a.x"));
    assert_eq!(failures.delay(&of("::1", "a.x")), STEP);
    // The address alone and the user alone also have a delay.
    assert_eq!(failures.delay(&of("::1", "a.y")), STEP);
    assert_eq!(failures.delay(&of("::2", "a.x")), STEP);
    assert_eq!(failures.delay(&of("::2", "a.y")), Duration::ZERO);
    for _ in 0..100 {
        failures.add(of("::1", "a.x"));
    }
    assert_eq!(failures.delay(&of("::1", "a.x")), DELAY_MAX);
    clock.advance(WINDOW + Duration::from_secs(1));
    assert_eq!(failures.delay(&of("::1", "a.x")), Duration::ZERO);
}

#[test]
fn the_sources_are_limited() {
    let failures = Failures::new(Env::in_memory(1));
    for n in 0..SOURCES_MAX {
        failures.add([Source::Address(n.to_string()), Source::User(n.to_string())]);
    }
    assert!(failures.counts.lock().len() <= SOURCES_MAX);
}

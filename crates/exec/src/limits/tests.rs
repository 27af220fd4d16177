use super::{Interrupted, Limits, Watch};
use alluvium_env::{Env, ManualClock};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn time_runs_once_for_all_that_share_it_and_the_clock_is_read_now_and_then() {
    let clock = Arc::new(ManualClock::new());
    let env = Env { clock: clock.clone(), ..Env::in_memory(1) };
    let mut limits = Limits::default();
    limits.set_max_time(Duration::from_millis(10));
    limits.begin(&env);
    clock.advance(Duration::from_millis(6));
    limits.begin(&env);
    limits.check(&env).unwrap();
    clock.advance(Duration::from_millis(4));
    let expired = Err(Interrupted::MaxTimeExpired { limit_ms: 10 });
    assert_eq!(limits.check(&env), expired);
    let mut watch = Watch::new(limits);
    assert_eq!((1..64).find(|_| watch.tick(&env).is_err()), None);
    assert_eq!(watch.tick(&env), expired);
}

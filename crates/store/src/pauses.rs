//! Pauses between the attempts of a transaction that meets conflicts.

use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use std::time::Duration;

/// The time for which a transaction is repeated after conflicts. Only pauses are counted.
const REPEATED_FOR: Duration = Duration::from_secs(60);
/// The bound of the first pause.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(256);

/// The pauses between conflicts. Each is random, below a bound that doubles, so that competitors do not meet again.
pub struct Pauses<'a> {
    env: &'a Env,
    bound: Duration,
    paused: Duration,
}

impl<'a> Pauses<'a> {
    /// No pause yet.
    pub fn new(env: &'a Env) -> Self {
        Self { env, bound: FIRST_PAUSE, paused: Duration::ZERO }
    }

    /// Waits before the next attempt. Returns false, without a pause, if there were attempts enough.
    ///
    /// ```
    /// let env = alluvium_env::Env::in_memory(1);
    /// let mut pauses = alluvium_store::Pauses::new(&env);
    /// assert!(pauses.pause());
    /// ```
    pub fn pause(&mut self) -> bool {
        if self.paused >= REPEATED_FOR {
            return false;
        }
        let pause = Duration::from_micros(self.env.rng.next_u64() % (self.bound.as_micros() as u64 + 1));
        self.bound = PAUSE_MAX.min(self.bound * 2);
        self.paused += pause;
        let never = Mutex::new(());
        Condvar::new().wait_for(&mut never.lock(), pause);
        true
    }
}

//! Simulated time: a clock that threads can wait on.
//!
//! With the feature `shuttle`, [`run`] runs a world of threads on shuttle's scheduler, in which
//! only waiting takes time. When no thread can run, the clock moves to the earliest time that a
//! thread waits for. `Condvar::wait_for` ends at its timeout. The same seed gives the same run.
//! Without the feature, a single thread runs, and the clock moves when this thread waits.

#[cfg(feature = "shuttle")]
pub use crate::timeline::run;

use crate::clock::Clock;
#[cfg(not(feature = "shuttle"))]
use crate::clock::ManualClock;
#[cfg(feature = "shuttle")]
use crate::timeline;
use std::time::Duration;

/// A clock that moves when threads wait.
#[derive(Default)]
pub struct SimulatedClock {
    #[cfg(not(feature = "shuttle"))]
    manual: ManualClock,
}

/// Milliseconds since 1970 at the clock's zero: 2026-01-01 UTC.
#[cfg(feature = "shuttle")]
const EPOCH_MS: i64 = 1_767_225_600_000;

impl SimulatedClock {
    /// A clock at zero; with the feature `shuttle`, the clock of the current world.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until this time; returns at once if it has passed.
    pub fn wait_until(&self, time: Duration) {
        #[cfg(not(feature = "shuttle"))]
        self.manual.advance(time.saturating_sub(self.manual.now()));
        #[cfg(feature = "shuttle")]
        timeline::wait_until(time);
    }
}

#[cfg(not(feature = "shuttle"))]
impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        self.manual.now()
    }

    fn unix_millis(&self) -> i64 {
        self.manual.unix_millis()
    }
}

#[cfg(feature = "shuttle")]
impl Clock for SimulatedClock {
    fn now(&self) -> Duration {
        timeline::now()
    }

    fn unix_millis(&self) -> i64 {
        EPOCH_MS.saturating_add(i64::try_from(timeline::now().as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod tests;

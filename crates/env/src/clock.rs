//! Time, as a trait.

// This module makes the calls that clippy.toml bans elsewhere.
#![allow(clippy::disallowed_methods)]

use crate::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Send + Sync {
    /// The time since a fixed moment; never decreases.
    fn now(&self) -> Duration;
    /// Milliseconds since 1970-01-01 UTC; may jump when the machine's clock is set.
    fn unix_millis(&self) -> i64;
}

/// The machine's clocks.
pub(crate) struct OsClock {
    start: Instant,
}

impl OsClock {
    /// A clock whose [`Clock::now`] begins at zero.
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for OsClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn unix_millis(&self) -> i64 {
        let clamp = |d: Duration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => clamp(since),
            Err(before) => -clamp(before.duration()),
        }
    }
}

/// A clock that moves only by [`ManualClock::advance`].
pub struct ManualClock {
    nanos: AtomicU64,
}

/// [`Clock::unix_millis`] of a [`ManualClock`] at zero: 2026-01-01 UTC.
const MANUAL_EPOCH_MS: i64 = 1_767_225_600_000;

impl ManualClock {
    /// A clock at zero, which is 2026-01-01 UTC.
    pub fn new() -> Self {
        Self { nanos: AtomicU64::new(0) }
    }

    /// Moves the clock forward. The total is at most about 584 years.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(by, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::SeqCst))
    }

    fn unix_millis(&self) -> i64 {
        let since = i64::try_from(self.now().as_millis()).unwrap_or(i64::MAX);
        MANUAL_EPOCH_MS.saturating_add(since)
    }
}

#[cfg(test)]
mod tests;

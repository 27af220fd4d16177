//! The limits that end a query early: a time limit, and a stop flag.

use alluvium_env::Env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The reason why a query ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// The stop flag was set.
    Stopped,
    /// The time limit expired.
    MaxTimeExpired {
        /// The time limit, in milliseconds.
        limit_ms: u64,
    },
}

/// The limits of a query, or of a write by filter.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The time limit, measured from the start of the query.
    pub max_time: Option<Duration>,
    /// Ends the query when set to true, from any thread.
    pub stop: Option<Arc<AtomicBool>>,
    /// The deadline on the environment's clock; set by [`Limits::begin`].
    deadline: Option<Duration>,
}

impl Limits {
    /// Sets the time limit; zero removes it.
    pub fn set_max_time(&mut self, time: Duration) {
        self.max_time = (!time.is_zero()).then_some(time);
    }

    /// Starts the time limit, unless it was started before: a write that searches several times has
    /// one time limit for all of its searches.
    pub fn begin(&mut self, env: &Env) {
        if let (Some(time), None) = (self.max_time, self.deadline) {
            self.deadline = Some(env.clock.now().saturating_add(time));
        }
    }

    /// Checks only the stop flag, which costs one load.
    ///
    /// # Errors
    /// [`Interrupted::Stopped`].
    pub fn check_stop(&self) -> Result<(), Interrupted> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Interrupted::Stopped),
            _ => Ok(()),
        }
    }

    /// Checks the stop flag, and the clock if there is a time limit.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn check(&self, env: &Env) -> Result<(), Interrupted> {
        self.check_stop()?;
        match (self.deadline, self.max_time) {
            (Some(deadline), Some(time)) if env.clock.now() >= deadline => {
                Err(Interrupted::MaxTimeExpired { limit_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) })
            }
            _ => Ok(()),
        }
    }
}

/// The clock is read once per this number of documents and entries.
const TICKS: u32 = 64;

/// Checks the limits of one query while it runs.
#[derive(Debug, Default)]
pub struct Watch {
    limits: Limits,
    ticks: u32,
}

impl Watch {
    /// Watches limits whose time limit has been started.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ticks: 0 }
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Must be called for each examined document and entry. Checks the stop flag in each call, and
    /// the clock in every 64th call.
    ///
    /// # Errors
    /// [`Interrupted`].
    #[inline]
    pub fn tick(&mut self, env: &Env) -> Result<(), Interrupted> {
        self.ticks += 1;
        if self.ticks < TICKS {
            return self.limits.check_stop();
        }
        self.check(env)
    }

    /// Checks the stop flag and the clock.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn check(&mut self, env: &Env) -> Result<(), Interrupted> {
        self.ticks = 0;
        self.limits.check(env)
    }
}

#[cfg(test)]
mod tests;

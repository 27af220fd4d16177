//! What ends a question before its end: the time that it was given, and whoever stops it.

use crate::error::{Error, Result};
use alluvium_env::Env;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a question, or a write by filter, may go on.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// How long it may take, from its beginning.
    pub max_time: Option<Duration>,
    /// Set to true by anybody, it ends.
    pub stop: Option<Arc<AtomicBool>>,
    /// When it must have ended, once it has begun.
    deadline: Option<Duration>,
}

impl Limits {
    /// It may take so long; zero is no limit.
    pub fn set_max_time(&mut self, time: Duration) {
        self.max_time = (!time.is_zero()).then_some(time);
    }

    /// The time runs from now on, if it did not before: what asks several times has one time for all of them.
    pub fn begin(&mut self, env: &Env) {
        if let (Some(time), None) = (self.max_time, self.deadline) {
            self.deadline = Some(env.clock.now().saturating_add(time));
        }
    }

    /// An error if it was stopped.
    pub fn check_stop(&self) -> Result<()> {
        self.stop.as_deref().map_or(Ok(()), Error::unless_stopped)
    }

    /// An error if it was stopped, or its time is over.
    pub fn check(&self, env: &Env) -> Result<()> {
        self.check_stop()?;
        match (self.deadline, self.max_time) {
            (Some(deadline), Some(time)) if env.clock.now() >= deadline => {
                Err(Error::MaxTimeExpired { limit_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) })
            }
            _ => Ok(()),
        }
    }
}

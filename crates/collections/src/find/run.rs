//! What the operators of one execution share.

use super::query::Query;
use crate::error::Result;
use crate::view::CollectionView;
use std::sync::Arc;
use std::time::Duration;

/// The clock is looked at once for so many documents and entries.
const TICKS: u32 = 64;

/// What the steps share.
pub(crate) struct Run {
    pub view: Arc<CollectionView>,
    pub query: Arc<Query>,
    /// When it began.
    pub started: Duration,
    pub ticks: u32,
    /// Steps are timed.
    pub timed: bool,
}

impl Run {
    pub fn now(&self) -> Duration {
        self.view.engine.env.clock.now()
    }

    /// Called for each document and entry that is looked at: ends what takes too long, or was stopped.
    pub fn tick(&mut self) -> Result<()> {
        self.ticks += 1;
        if self.ticks < TICKS {
            return self.query.limits.check_stop();
        }
        self.check_limits()
    }

    pub fn check_limits(&mut self) -> Result<()> {
        self.ticks = 0;
        self.query.limits.check(&self.view.engine.env)
    }
}

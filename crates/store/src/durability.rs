//! Acknowledgement of writes, and the background syncs of the log: the periodic sync, and the sync ahead of the next
//! segment.

use crate::error::{Error, Result};
use crate::health::Health;
use crate::options::{Durability, Options};
use crate::poison::Poison;
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_wal::{Position, Wal};
use std::sync::Arc;
use std::time::Duration;

/// If a sync is late by more than this many intervals, periodic writers wait for it.
const LATE_INTERVALS: u32 = 3;

/// Syncs the log: for a write that waits for the sync, and in a background thread.
pub(crate) struct Syncer {
    wal: Arc<Wal>,
    health: Arc<Health>,
    poison: Arc<Poison>,
    clock: Arc<dyn Clock>,
    /// True if the background thread runs.
    background: bool,
    sync_interval: Duration,
    /// The thread syncs the log when more bytes than this are not synced.
    ahead_bytes: u64,
    stop: Mutex<bool>,
    stopped: Condvar,
    /// When the last sync ended, in nanoseconds of the environment's clock.
    last_sync: AtomicU64,
    /// True if a write under [`Durability::Periodic`] was acknowledged after the last periodic sync began.
    wanted: AtomicBool,
    /// True if enough is not synced that the next segment would wait for the sync of the current one.
    behind: AtomicBool,
}

impl Syncer {
    pub fn new(wal: Arc<Wal>, poison: Arc<Poison>, clock: Arc<dyn Clock>, options: &Options) -> Self {
        Self {
            wal,
            health: poison.health.clone(),
            poison,
            last_sync: AtomicU64::new(clock.now().as_nanos() as u64),
            clock,
            background: options.background,
            sync_interval: options.sync_interval,
            ahead_bytes: options.sync_ahead_bytes(),
            stop: Mutex::new(false),
            stopped: Condvar::new(),
            wanted: AtomicBool::new(false),
            behind: AtomicBool::new(false),
        }
    }

    /// Wakes the background thread for a sync.
    fn hurry(&self) {
        if !self.behind.swap(true, Ordering::AcqRel) {
            // The thread checks `behind` under this lock before it waits.
            drop(self.stop.lock());
            self.stopped.notify_all();
        }
    }

    /// Ends the background thread.
    pub fn stop(&self) {
        *self.stop.lock() = true;
        self.stopped.notify_all();
    }

    /// Waits as long as the durability of the write demands before it is acknowledged.
    pub fn acknowledge(&self, end: Position, durability: Durability) -> Result<()> {
        if let Some(cause) = self.health.poisoned() {
            // The log failed after this batch was written to it, so the state of the log on disk is not known.
            return Err(Error::OutcomeUnknown(Box::new(cause.clone())));
        }
        match durability {
            Durability::Bulk => Ok(()),
            Durability::Sync => self.sync(end),
            Durability::Periodic => {
                if !self.background {
                    return Ok(());
                }
                if !self.wanted.load(Ordering::Acquire) {
                    self.wanted.store(true, Ordering::Release);
                }
                let last = Duration::from_nanos(self.last_sync.load(Ordering::Relaxed));
                let age = self.clock.now().saturating_sub(last);
                if age > self.sync_interval.saturating_mul(LATE_INTERVALS) && self.wal.synced() < end {
                    return self.sync(end);
                }
                Ok(())
            }
        }
    }

    /// Starts a background sync of the log when many of its bytes are not synced, whatever the durability of the
    /// writes. Otherwise the leader would sync the rest of a segment before it begins the next one, and every writer
    /// would wait.
    pub fn sync_ahead(&self) {
        if self.background && self.is_behind() {
            self.hurry();
        }
    }

    fn is_behind(&self) -> bool {
        self.wal.unsynced_bytes() > self.ahead_bytes
    }

    /// Syncs the whole log. A failure poisons the store.
    pub fn sync_all(&self) -> Result<()> {
        self.sync(self.wal.end())
    }

    /// Syncs the log up to `end`. A failure poisons the store.
    pub fn sync(&self, end: Position) -> Result<()> {
        let began = self.clock.now();
        match self.wal.sync_to(end) {
            Ok(()) => {
                let now = self.clock.now();
                crate::events::took("a sync of the log", now.saturating_sub(began));
                self.last_sync.fetch_max(now.as_nanos() as u64, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                let cause = Error::Storage(error);
                self.poison.poison(cause.clone());
                Err(Error::OutcomeUnknown(Box::new(cause)))
            }
        }
    }

    /// The background thread. Syncs the log once per interval if a periodic write waits for that, and whenever too many
    /// bytes are not synced.
    pub fn run(&self) {
        loop {
            let mut stop = self.stop.lock();
            if !*stop && !self.behind.load(Ordering::Acquire) {
                self.stopped.wait_for(&mut stop, self.sync_interval);
            }
            if *stop || self.health.check_writable().is_err() {
                return;
            }
            drop(stop);
            // Read before the end of the log. If a writer sets the flag later, the next round syncs its record.
            let wanted = self.wanted.swap(false, Ordering::AcqRel);
            // The flag may have been set while the last sync ran, and be out of date.
            let behind = self.behind.swap(false, Ordering::AcqRel) && self.is_behind();
            let end = self.wal.end();
            if !(wanted || behind) || self.wal.synced() >= end {
                let now = self.clock.now().as_nanos() as u64;
                self.last_sync.fetch_max(now, Ordering::Relaxed);
                continue;
            }
            if self.sync(end).is_err() {
                return;
            }
        }
    }
}

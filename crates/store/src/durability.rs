//! Acknowledgement, the periodic sync of the log and the one ahead of its next segment, and the poison
//! that ends them.

use crate::marks;
use crate::store::Inner;
use crate::{Durability, Error, Result};
use alluvium_env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_wal::Position;
use std::sync::Arc;
use std::time::Duration;

/// A sync that is late by more than this many intervals makes periodic writers wait for it.
const LATE_INTERVALS: u32 = 3;

/// The state of the syncing thread.
pub(crate) struct Syncer {
    stop: Mutex<bool>,
    stopped: Condvar,
    /// When the last sync ended, in nanoseconds of the environment's clock.
    last_sync: AtomicU64,
    /// A write under [`Durability::Periodic`] was acknowledged since the last periodic sync began.
    wanted: AtomicBool,
    /// So much is written and not synced that the next segment would wait for it.
    behind: AtomicBool,
}

impl Syncer {
    pub fn new(now: Duration) -> Self {
        Self {
            stop: Mutex::new(false),
            stopped: Condvar::new(),
            last_sync: AtomicU64::new(now.as_nanos() as u64),
            wanted: AtomicBool::new(false),
            behind: AtomicBool::new(false),
        }
    }

    /// Wakes the thread for a sync.
    fn hurry(&self) {
        if !self.behind.swap(true, Ordering::AcqRel) {
            // The thread looks at `behind` under this lock before it waits.
            drop(self.stop.lock());
            self.stopped.notify_all();
        }
    }

    pub fn stop(&self) {
        *self.stop.lock() = true;
        self.stopped.notify_all();
    }
}

impl Inner {
    /// Waits as long as the durability asks for before a write is acknowledged.
    pub(crate) fn acknowledge(&self, end: Position, durability: Durability) -> Result<()> {
        if let Some(cause) = self.poisoned.get() {
            // The log failed after this batch was written to it: nobody knows what is on disk.
            return Err(Error::OutcomeUnknown(Box::new(cause.clone())));
        }
        match durability {
            Durability::Bulk => Ok(()),
            Durability::Sync => self.sync_log(end),
            Durability::Periodic => {
                if !self.options.background {
                    return Ok(());
                }
                if !self.syncer.wanted.load(Ordering::Acquire) {
                    self.syncer.wanted.store(true, Ordering::Release);
                }
                let last = Duration::from_nanos(self.syncer.last_sync.load(Ordering::Relaxed));
                let age = self.env.clock.now().saturating_sub(last);
                if age > self.options.sync_interval.saturating_mul(LATE_INTERVALS) && self.wal.synced() < end {
                    return self.sync_log(end);
                }
                Ok(())
            }
        }
    }

    /// Has the log synced in the background when much of it is not, whatever the writes ask for: the
    /// leader syncs what is left of a segment before it begins the next one, and everybody waits.
    pub(crate) fn sync_ahead(&self) {
        if self.options.background && self.is_behind() {
            self.syncer.hurry();
        }
    }

    fn is_behind(&self) -> bool {
        self.wal.unsynced_bytes() > self.options.sync_ahead_bytes()
    }

    /// Syncs the log up to `end`; a failure poisons.
    pub(crate) fn sync_log(&self, end: Position) -> Result<()> {
        let began = self.env.clock.now();
        match self.wal.sync_to(end) {
            Ok(()) => {
                let now = self.env.clock.now();
                crate::events::took("a sync of the log", now.saturating_sub(began));
                self.syncer.last_sync.fetch_max(now.as_nanos() as u64, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                let cause = Error::Storage(error);
                self.poison(cause.clone());
                Err(Error::OutcomeUnknown(Box::new(cause)))
            }
        }
    }

    /// Takes no more writes; wakes everybody who waits for one.
    pub(crate) fn poison(&self, cause: Error) {
        // The first cause wins.
        if self.poisoned.set(cause.clone()).is_ok() {
            marks::STORE_POISONED.hit();
            crate::events::poisoned(&cause);
        }
        self.visibility.fail(&cause);
        self.admission.wake();
        self.workers.signal();
    }

    /// Errors if the store takes no writes.
    pub(crate) fn writable(&self) -> Result<()> {
        self.open_for_reads()?;
        match self.poisoned.get() {
            Some(cause) => Err(Error::Poisoned(Box::new(cause.clone()))),
            None => Ok(()),
        }
    }
}

/// The syncing thread: one sync of the log an interval, while a periodic write waits for it, and one
/// whenever too much is not synced.
pub(crate) fn run(store: &Arc<Inner>) {
    loop {
        let mut stop = store.syncer.stop.lock();
        if !*stop && !store.syncer.behind.load(Ordering::Acquire) {
            store.syncer.stopped.wait_for(&mut stop, store.options.sync_interval);
        }
        if *stop || store.writable().is_err() {
            return;
        }
        drop(stop);
        // Asked first: who sets it later has its record before an end that is read later.
        let wanted = store.syncer.wanted.swap(false, Ordering::AcqRel);
        // Set while the last sync ran, it may be out of date.
        let behind = store.syncer.behind.swap(false, Ordering::AcqRel) && store.is_behind();
        let end = store.wal.end();
        if !(wanted || behind) || store.wal.synced() >= end {
            let now = store.env.clock.now().as_nanos() as u64;
            store.syncer.last_sync.fetch_max(now, Ordering::Relaxed);
            continue;
        }
        if store.sync_log(end).is_err() {
            return;
        }
    }
}

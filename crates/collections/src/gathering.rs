//! Limits the memory of index builds and sweeps: only a few of them gather entries at the same time.

use crate::error::Result;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_store::{Charge, Store};
use std::time::Duration;

/// The number of bytes that one build or sweep gathers in memory.
pub(crate) fn gather_bytes(store: &Store) -> usize {
    store.options().tuning.gather_bytes.unwrap_or(store.batch_bytes() / 2)
}

/// The maximum number of builds and sweeps that gather at the same time. Each takes up to a tenth of the memory budget.
const AT_ONCE: usize = 2;

/// The interval at which a waiting thread checks whether it shall stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Counts the builds and sweeps that are gathering.
#[derive(Default)]
pub(crate) struct Gathering {
    busy: Mutex<usize>,
    released: Condvar,
}

/// The permission to gather, and the memory that is charged for it.
pub(crate) struct Place<'a> {
    gathering: &'a Gathering,
    _charge: Charge,
}

impl Gathering {
    /// Waits for a place, and charges `bytes` to the memory budget; the cache shrinks by that much. An error of `check`
    /// ends the wait. The caller holds no lock that other threads need.
    pub fn enter(&self, store: &Store, bytes: usize, check: impl Fn() -> Result<()>) -> Result<Place<'_>> {
        let mut busy = self.busy.lock();
        while *busy >= AT_ONCE {
            check()?;
            self.released.wait_for(&mut busy, STOP_CHECK);
        }
        *busy += 1;
        drop(busy);
        Ok(Place { gathering: self, _charge: store.charge(bytes) })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.gathering.busy.lock() -= 1;
        self.gathering.released.notify_one();
    }
}

#[cfg(test)]
mod tests;

//! What builds of indexes and sweeps gather in memory: few of them at once, however many there are.

use crate::error::Result;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_store::{Charge, Store};
use std::time::Duration;

/// What builds and sweeps gather in memory at a time, in bytes.
pub(crate) fn gather_bytes(store: &Store) -> usize {
    store.options().tuning.gather_bytes.unwrap_or(store.max_batch_bytes() / 2)
}

/// So many gather at once: each takes up to a tenth of the memory budget.
const AT_ONCE: usize = 2;

/// How long who waits may miss that it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Who gathers.
#[derive(Default)]
pub(crate) struct Gathering {
    busy: Mutex<usize>,
    left: Condvar,
}

/// A place among those who gather, and the memory that it takes.
pub(crate) struct Place<'a> {
    gathering: &'a Gathering,
    _charge: Charge,
}

impl Gathering {
    /// Waits for a place; the cache makes room for what is gathered there. `check` ends the waiting by its error. Who waits
    /// holds no lock that others need.
    pub fn enter(&self, store: &Store, bytes: usize, check: impl Fn() -> Result<()>) -> Result<Place<'_>> {
        let mut busy = self.busy.lock();
        while *busy >= AT_ONCE {
            check()?;
            self.left.wait_for(&mut busy, STOP_CHECK);
        }
        *busy += 1;
        drop(busy);
        Ok(Place { gathering: self, _charge: store.charge(bytes) })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.gathering.busy.lock() -= 1;
        self.gathering.left.notify_one();
    }
}

#[cfg(test)]
mod tests;

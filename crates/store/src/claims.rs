//! Claims: which keys the open write sets have written.
//!
//! Claims decide nothing. A commit checks under the locks of its keys whether others have written them. Claims let the
//! second writer of a key know early: another write set is refused at once, and a plain write waits until the set has
//! ended, so that it does not make the whole set fail. A plain write waits before it holds a lock or a reservation.
//!
//! Keys are known by the hashes that lock them: two keys with the same hash only cost time. Lock order: the lock of the
//! table is a leaf.

use crate::error::{Error, Result};
use alluvium_env::Clock;
use alluvium_env::sync::atomic::{AtomicUsize, Ordering};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::thread::{self, ThreadId};
use hashbrown::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait for the end of a write set of another thread.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest wait for the end of a write set of the same thread, which most probably waits for itself.
const OWN_WAIT_MAX: Duration = Duration::from_secs(1);
/// The interval at which a waiting write looks whether it should go on.
const LOOK: Duration = Duration::from_millis(10);

/// The claims of all open write sets.
pub(crate) struct Claims {
    clock: Arc<dyn Clock>,
    held: Mutex<Held>,
    /// The number of claimed keys, for writers that look without the lock.
    count: AtomicUsize,
    freed: Condvar,
}

#[derive(Default)]
struct Held {
    owners: HashMap<u64, Owner>,
    next: u64,
}

#[derive(Clone, Copy)]
struct Owner {
    set: u64,
    thread: ThreadId,
}

/// The claims of one write set. Dropping this value releases them.
pub(crate) struct Claimed {
    claims: Arc<Claims>,
    set: u64,
    hashes: Vec<u64>,
}

impl Claims {
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        let (held, count, freed) = Default::default();
        Arc::new(Self { clock, held, count, freed })
    }

    /// No claims yet, for a new write set.
    pub fn begin(self: &Arc<Self>) -> Claimed {
        let mut held = self.held.lock();
        held.next += 1;
        Claimed { claims: self.clone(), set: held.next, hashes: Vec::new() }
    }

    /// True if a write set claims a key.
    #[inline]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// The number of a write set that claims one of the keys.
    pub fn owner(&self, mut hashes: impl Iterator<Item = u64>) -> Option<u64> {
        let held = self.held.lock();
        hashes.find_map(|hash| held.owners.get(&hash).map(|owner| owner.set))
    }

    /// Returns when no write set claims one of the keys. `goes_on` is called from time to time during a wait, and ends
    /// it by returning false.
    ///
    /// # Errors
    /// [`Error::Claimed`] if the wait was too long; [`Error::Stopped`] if it was ended.
    #[inline]
    pub fn wait(&self, hashes: impl Iterator<Item = u64> + Clone, goes_on: &dyn Fn() -> bool) -> Result<()> {
        if self.any() { self.wait_for_owners(hashes, goes_on) } else { Ok(()) }
    }

    #[cold]
    fn wait_for_owners(&self, hashes: impl Iterator<Item = u64> + Clone, goes_on: &dyn Fn() -> bool) -> Result<()> {
        // The clock may stand still, as in tests; and waits end early when other sets end.
        let (began, mut timed_out) = (self.clock.now(), Duration::ZERO);
        loop {
            let mut held = self.held.lock();
            let Some(owner) = hashes.clone().find_map(|hash| held.owners.get(&hash).copied()) else { return Ok(()) };
            let own = owner.thread == thread::current_id();
            let waited = timed_out.max(self.clock.now().saturating_sub(began));
            if waited >= if own { OWN_WAIT_MAX } else { WAIT_MAX } {
                return Err(Error::Claimed { set: owner.set });
            }
            if self.freed.wait_for(&mut held, LOOK) {
                timed_out += LOOK;
            }
            drop(held);
            if !goes_on() {
                return Err(Error::Stopped);
            }
        }
    }
}

impl Claimed {
    /// Claims keys for the write set. If another set has one of them, nothing is claimed, and the result is false.
    pub fn claim(&mut self, hashes: impl Iterator<Item = u64> + Clone) -> bool {
        let mut held = self.claims.held.lock();
        let is_others = |hash: u64| held.owners.get(&hash).is_some_and(|owner| owner.set != self.set);
        if hashes.clone().any(is_others) {
            return false;
        }
        let owner = Owner { set: self.set, thread: thread::current_id() };
        for hash in hashes {
            if held.owners.insert(hash, owner).is_none() {
                self.hashes.push(hash);
            }
        }
        self.claims.count.store(held.owners.len(), Ordering::Release);
        true
    }

    /// The number of the write set. No other one of the store has it.
    pub fn number(&self) -> u64 {
        self.set
    }

    /// The memory of the claims, in bytes.
    pub fn memory_bytes(&self) -> usize {
        const EACH: usize = 2 * size_of::<(u64, Owner)>() + size_of::<u64>();
        self.hashes.len() * EACH
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.hashes.is_empty() {
            return;
        }
        let mut held = self.claims.held.lock();
        for hash in &self.hashes {
            held.owners.remove(hash);
        }
        self.claims.count.store(held.owners.len(), Ordering::Release);
        drop(held);
        self.claims.freed.notify_all();
    }
}

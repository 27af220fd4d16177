//! The locks of the real machine.

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::atomic;

use crate::thread;
use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// A condition variable for [`Mutex`].
#[derive(Default)]
pub struct Condvar {
    inner: parking_lot::Condvar,
}

impl Condvar {
    /// A condition variable that nobody waits on.
    pub const fn new() -> Self {
        Self { inner: parking_lot::Condvar::new() }
    }

    /// Gives up the lock, waits to be notified, and takes the lock again. May wake without
    /// a notification: call it in a loop around the condition.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.inner.wait(guard);
    }

    /// Like [`Condvar::wait`], for at most `timeout`. True if the time ran out.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        self.inner.wait_for(guard, timeout).timed_out()
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.inner.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.inner.notify_all();
    }
}

/// What all read and one replaces as a whole: readers take no lock, and keep what they have found.
pub struct ArcCell<T> {
    inner: ArcSwap<T>,
}

impl<T> ArcCell<T> {
    /// A cell that holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self { inner: ArcSwap::new(value) }
    }

    /// What it holds, for a short while: mostly counts no owner.
    #[inline]
    pub fn load(&self) -> impl Deref<Target = Arc<T>> + use<T> {
        self.inner.load()
    }

    /// What it holds.
    #[inline]
    pub fn load_full(&self) -> Arc<T> {
        self.inner.load_full()
    }

    /// Replaces what it holds.
    pub fn store(&self, value: Arc<T>) {
        self.inner.store(value);
    }
}

/// As [`ArcCell`], and may hold nothing.
pub struct ArcSlot<T> {
    inner: ArcSwapOption<T>,
}

/// What an [`ArcSlot`] held.
pub type Pinned<T> = Guard<Option<Arc<T>>>;

impl<T> Default for ArcSlot<T> {
    fn default() -> Self {
        Self { inner: ArcSwapOption::empty() }
    }
}

impl<T> ArcSlot<T> {
    /// What it holds, for a short while: mostly counts no owner.
    #[inline]
    pub fn load(&self) -> Pinned<T> {
        self.inner.load()
    }

    /// What a slot that holds nothing gives.
    #[inline]
    pub fn nothing() -> Pinned<T> {
        Guard::from_inner(None)
    }

    /// Puts `value` into an empty slot; false if it was not empty, and nothing has changed.
    pub fn fill(&self, value: &Arc<T>) -> bool {
        self.inner.compare_and_swap(&None::<Arc<T>>, Some(value.clone())).is_none()
    }

    /// Empties the slot.
    pub fn take(&self) -> Option<Arc<T>> {
        self.inner.swap(None)
    }
}

/// Looks for a few microseconds whether another thread has made `done` true, then a few times more after giving the
/// core to whoever else can run; false if not, and then the caller waits on a condition variable. Worth it where the
/// wait is mostly shorter than going to sleep and being woken: some 10 µs of two cores.
#[inline]
pub fn spin_until(mut done: impl FnMut() -> bool) -> bool {
    for _ in 0..spins() {
        if done() {
            return true;
        }
        std::hint::spin_loop();
    }
    for _ in 0..YIELDS {
        if done() {
            return true;
        }
        thread::yield_now();
    }
    done()
}

/// Turns of the loop, of some 40 to 140 cycles each: beyond that, sleeping is cheaper. None where there is a single core.
const SPINS: u32 = 150;

/// Times that the core is given away: with more threads than cores, the one that is waited for may need this one.
const YIELDS: u32 = 4;

fn spins() -> u32 {
    static MANY_CORES: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let many = *MANY_CORES.get_or_init(|| thread::available_parallelism() > 1);
    if many { SPINS } else { 0 }
}

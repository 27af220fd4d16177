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
    /// A condition variable without waiters.
    pub const fn new() -> Self {
        Self { inner: parking_lot::Condvar::new() }
    }

    /// Releases the lock, waits for a notification, and takes the lock again. May wake without a
    /// notification: call it in a loop that checks the condition.
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

/// A shared value that is replaced as a whole: readers take no lock, and keep the value that they
/// loaded.
pub struct ArcCell<T> {
    inner: ArcSwap<T>,
}

impl<T> ArcCell<T> {
    /// A cell that holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self { inner: ArcSwap::new(value) }
    }

    /// The value, for a short use; usually without changing a reference count.
    #[inline]
    pub fn load(&self) -> impl Deref<Target = Arc<T>> + use<T> {
        self.inner.load()
    }

    /// The value, as a new counted reference.
    #[inline]
    pub fn load_full(&self) -> Arc<T> {
        self.inner.load_full()
    }

    /// Replaces the value.
    pub fn store(&self, value: Arc<T>) {
        self.inner.store(value);
    }
}

/// As [`ArcCell`], but may be empty.
pub struct ArcSlot<T> {
    inner: ArcSwapOption<T>,
}

/// The value of an [`ArcSlot`] when it was loaded.
pub type Pinned<T> = Guard<Option<Arc<T>>>;

impl<T> Default for ArcSlot<T> {
    fn default() -> Self {
        Self { inner: ArcSwapOption::empty() }
    }
}

impl<T> ArcSlot<T> {
    /// The value, for a short use; usually without changing a reference count.
    #[inline]
    pub fn load(&self) -> Pinned<T> {
        self.inner.load()
    }

    /// The result of [`ArcSlot::load`] for an empty slot.
    #[inline]
    pub fn nothing() -> Pinned<T> {
        Guard::from_inner(None)
    }

    /// Puts `value` into an empty slot. Returns false, and changes nothing, if it was not empty.
    pub fn fill(&self, value: &Arc<T>) -> bool {
        self.inner.compare_and_swap(&None::<Arc<T>>, Some(value.clone())).is_none()
    }

    /// Empties the slot.
    pub fn take(&self) -> Option<Arc<T>> {
        self.inner.swap(None)
    }
}

/// Checks for a few microseconds whether another thread has made `done` true, then a few times more
/// after yielding the core. Returns false if `done` stayed false; the caller then waits on a
/// condition variable. This pays off if most waits are shorter than the time to sleep and wake,
/// which is about 10 µs on each of two cores.
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

/// The number of iterations of the loop, of about 40 to 140 cycles each. For longer waits, sleeping
/// is cheaper. On a single core the loop is skipped.
const SPINS: u32 = 150;

/// The number of times that the core is yielded. If there are more threads than cores, the awaited
/// thread may need this core.
const YIELDS: u32 = 4;

fn spins() -> u32 {
    static MANY_CORES: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let many = *MANY_CORES.get_or_init(|| thread::available_parallelism() > 1);
    if many { SPINS } else { 0 }
}

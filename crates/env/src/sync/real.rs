//! The locks of the real machine.

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::atomic;

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
        crate::thread::yield_now();
    }
    done()
}

/// Turns of the loop, of some 40 to 140 cycles each: beyond that, sleeping is cheaper. None where there is a single core.
const SPINS: u32 = 150;

/// Times that the core is given away: with more threads than cores, the one that is waited for may need this one.
const YIELDS: u32 = 4;

fn spins() -> u32 {
    static MANY_CORES: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let many = *MANY_CORES.get_or_init(|| crate::thread::available_parallelism() > 1);
    if many { SPINS } else { 0 }
}

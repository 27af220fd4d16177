//! Condition variables in loom's model.

// `Option` is empty only while `Condvar::wait` holds the guard by value.
#![allow(clippy::expect_used)]

use super::{MutexGuard, host};
use std::sync::PoisonError;
use std::time::Duration;

/// A condition variable for [`super::Mutex`].
#[derive(Default)]
pub struct Condvar {
    inner: host::Condvar,
}

impl Condvar {
    /// A condition variable without waiters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Releases the lock, waits for a notification, and takes the lock again. May wake without a
    /// notification: call it in a loop that checks the condition.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.inner.take().expect("the guard is not being waited on");
        guard.inner = Some(self.inner.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Releases the lock, lets other threads run, and takes the lock again. Always returns true, as
    /// if the time had run out, because the model has no clock.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _timeout: Duration) -> bool {
        drop(guard.inner.take());
        loom::thread::yield_now();
        guard.inner = Some(guard.mutex.lock().unwrap_or_else(PoisonError::into_inner));
        true
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

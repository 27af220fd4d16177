//! Condition variables on shuttle's scheduler.

// `Option` is empty only while `Condvar::wait` holds the guard by value.
#![allow(clippy::expect_used)]

use super::{MutexGuard, host};
use crate::timeline::{self, Bell};
use shuttle::rand::Rng;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A condition variable for [`Mutex`].
#[derive(Default)]
pub struct Condvar {
    inner: host::Condvar,
    /// The waiters with a timeout, in simulated time. No thread is interrupted while this list is
    /// locked.
    timed: parking_lot::Mutex<Vec<Arc<Bell>>>,
}

impl Condvar {
    /// A condition variable without waiters.
    pub const fn new() -> Self {
        Self { inner: host::Condvar::new(), timed: parking_lot::Mutex::new(Vec::new()) }
    }

    /// Releases the lock, waits for a notification, and takes the lock again. May wake without a
    /// notification: call it in a loop that checks the condition.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.inner.take().expect("the guard is not being waited on");
        guard.inner = Some(self.inner.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Like [`Condvar::wait`], for at most `timeout`. True if the time ran out.
    ///
    /// Shuttle has no clock, and its own `wait_timeout` never times out, which would be a deadlock
    /// if only the timeout can wake a thread. Here every call returns. In simulated time
    /// ([`crate::simulated::run`]) it returns at the timeout at the latest. Otherwise it returns
    /// after other threads had a turn, and the result is random.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        if let Some((bell, alarm)) = timeline::alarm(timeout) {
            self.timed.lock().push(bell.clone());
            drop(guard.inner.take());
            let ended = alarm.wait(&bell);
            self.timed.lock().retain(|other| !Arc::ptr_eq(other, &bell));
            guard.inner = Some(guard.mutex.lock().unwrap_or_else(PoisonError::into_inner));
            return ended;
        }
        drop(guard.inner.take());
        shuttle::thread::yield_now();
        guard.inner = Some(guard.mutex.lock().unwrap_or_else(PoisonError::into_inner));
        shuttle::rand::thread_rng().r#gen()
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        let first = {
            let mut timed = self.timed.lock();
            if timed.is_empty() { None } else { Some(timed.remove(0)) }
        };
        if let Some(bell) = first {
            bell.ring();
        }
        self.inner.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        let timed = std::mem::take(&mut *self.timed.lock());
        timed.iter().for_each(|bell| bell.ring());
        self.inner.notify_all();
    }
}

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
    /// Who waits for at most some time, where time moves by itself. Nobody is interrupted while it is held.
    timed: parking_lot::Mutex<Vec<Arc<Bell>>>,
}

impl Condvar {
    /// A condition variable that nobody waits on.
    pub const fn new() -> Self {
        Self { inner: host::Condvar::new(), timed: parking_lot::Mutex::new(Vec::new()) }
    }

    /// Gives up the lock, waits to be notified, and takes the lock again. May wake without
    /// a notification: call it in a loop around the condition.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.inner.take().expect("the guard is not being waited on");
        guard.inner = Some(self.inner.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Like [`Condvar::wait`], for at most `timeout`. True if the time ran out.
    ///
    /// Shuttle knows no time, and its own `wait_timeout` never ends by itself, which would
    /// be a deadlock where only the timeout can wake. Here every call ends: where time is simulated
    /// ([`crate::simulated::run`]), when it is over; else other threads get a turn, and whether the
    /// time ran out is left to chance.
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

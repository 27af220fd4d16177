//! The same types as in `real.rs`, on shuttle's scheduler or in loom's model.

// `Option` is empty only while `Condvar::wait` holds the guard by value.
#![allow(clippy::expect_used)]

#[cfg(not(feature = "shuttle"))]
mod modelled;
#[cfg(feature = "shuttle")]
mod scheduled;

#[cfg(not(feature = "shuttle"))]
pub use modelled::Condvar;
#[cfg(feature = "shuttle")]
pub use scheduled::Condvar;

#[cfg(not(feature = "shuttle"))]
use loom::sync as host;
#[cfg(feature = "shuttle")]
use shuttle::sync as host;

pub use host::atomic;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError, TryLockError};

/// A lock that one thread holds at a time.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    inner: host::Mutex<T>,
}

/// A held [`Mutex`].
pub struct MutexGuard<'a, T: ?Sized> {
    inner: Option<host::MutexGuard<'a, T>>,
    mutex: &'a host::Mutex<T>,
}

impl<T> Mutex<T> {
    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        Self { inner: host::Mutex::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { inner: Some(guard), mutex: &self.inner }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = free(self.inner.try_lock())?;
        Some(MutexGuard { inner: Some(guard), mutex: &self.inner })
    }

    /// A reference to the value; no lock is needed, because `self` is borrowed exclusively.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

fn free<G>(result: Result<G, TryLockError<G>>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.inner.as_ref().expect("the guard is not being waited on")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("the guard is not being waited on")
    }
}

/// A lock that many readers or one writer hold at a time.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    inner: host::RwLock<T>,
}

/// An [`RwLock`] held for reading.
pub type RwLockReadGuard<'a, T> = host::RwLockReadGuard<'a, T>;

/// An [`RwLock`] held for writing.
pub type RwLockWriteGuard<'a, T> = host::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        Self { inner: host::RwLock::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for the lock and takes it for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock and takes it for writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock for reading if no writer holds it.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        free(self.inner.try_read())
    }

    /// Takes the lock for writing if it is free.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        free(self.inner.try_write())
    }

    /// A reference to the value; no lock is needed, because `self` is borrowed exclusively.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A shared value that is replaced as a whole. Here each access is a separate step of the
/// scheduler.
pub struct ArcCell<T> {
    inner: Mutex<Arc<T>>,
}

impl<T> ArcCell<T> {
    /// A cell that holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self { inner: Mutex::new(value) }
    }

    /// The value, for a short use.
    pub fn load(&self) -> impl Deref<Target = Arc<T>> + use<T> {
        Loaded(self.load_full())
    }

    /// The value.
    pub fn load_full(&self) -> Arc<T> {
        self.inner.lock().clone()
    }

    /// Replaces the value.
    pub fn store(&self, value: Arc<T>) {
        // The old value is dropped after the lock is released.
        let old = std::mem::replace(&mut *self.inner.lock(), value);
        drop(old);
    }
}

struct Loaded<T>(Arc<T>);

impl<T> Deref for Loaded<T> {
    type Target = Arc<T>;
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

/// As [`ArcCell`], but may be empty.
pub struct ArcSlot<T> {
    inner: Mutex<Option<Arc<T>>>,
}

/// The value of an [`ArcSlot`] when it was loaded.
pub struct Pinned<T>(Option<Arc<T>>);

impl<T> Deref for Pinned<T> {
    type Target = Option<Arc<T>>;
    fn deref(&self) -> &Option<Arc<T>> {
        &self.0
    }
}

impl<T> Default for ArcSlot<T> {
    fn default() -> Self {
        Self { inner: Mutex::new(None) }
    }
}

impl<T> ArcSlot<T> {
    /// The value, for a short use.
    pub fn load(&self) -> Pinned<T> {
        Pinned(self.inner.lock().clone())
    }

    /// The result of [`ArcSlot::load`] for an empty slot.
    pub fn nothing() -> Pinned<T> {
        Pinned(None)
    }

    /// Puts `value` into an empty slot. Returns false, and changes nothing, if it was not empty.
    pub fn fill(&self, value: &Arc<T>) -> bool {
        let mut held = self.inner.lock();
        let empty = held.is_none();
        if empty {
            *held = Some(value.clone());
        }
        empty
    }

    /// Empties the slot.
    pub fn take(&self) -> Option<Arc<T>> {
        self.inner.lock().take()
    }
}

/// Calls `done` once: here every wait is a separate step of the scheduler.
pub fn spin_until(mut done: impl FnMut() -> bool) -> bool {
    done()
}

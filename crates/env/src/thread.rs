//! Threads.

// This module makes the calls that clippy.toml bans elsewhere.
#![allow(clippy::disallowed_methods)]

#[cfg(all(feature = "loom", not(feature = "shuttle")))]
use loom::thread as host;
#[cfg(feature = "shuttle")]
use shuttle::thread as host;
#[cfg(not(any(feature = "loom", feature = "shuttle")))]
use std::thread as host;

#[cfg(feature = "shuttle")]
use shuttle::thread as scoped;
// Loom has no scoped threads: its scenarios spawn threads without a scope.
#[cfg(not(feature = "shuttle"))]
use std::thread as scoped;

pub use host::ThreadId;
pub use scoped::Scope;

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The error of [`JoinHandle::join`] for a thread that panicked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the thread {thread} panicked: {message}")]
pub struct Panicked {
    /// The thread's name.
    pub thread: String,
    /// The panic's message, if it was text.
    pub message: String,
}

/// A running thread. Dropping the handle detaches the thread.
pub struct JoinHandle<T> {
    name: String,
    inner: host::JoinHandle<T>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to end and returns its result.
    ///
    /// # Errors
    /// [`Panicked`] if the thread panicked.
    pub fn join(self) -> Result<T, Panicked> {
        let Self { name, inner } = self;
        inner.join().map_err(|payload| Panicked { thread: name, message: message(&*payload) })
    }

    /// The thread's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "(no message)".to_owned(),
    }
}

/// Runs `body`. Threads that it starts in the scope may borrow local values; they are joined before
/// this function returns.
///
/// # Panics
/// If a thread panicked that `body` did not join.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    scoped::scope(body)
}

/// Starts a thread with a name (Linux shows its first 15 bytes).
///
/// # Panics
/// If the operating system refuses another thread; see [`try_spawn`].
pub fn spawn<T, F>(name: &str, f: F) -> JoinHandle<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    match try_spawn(name, f) {
        Ok(handle) => handle,
        // Like `std::thread::spawn`. The threads of a database start when it opens, so the panic
        // happens before any write was acknowledged.
        #[allow(clippy::panic)]
        Err(error) => panic!("cannot start the thread {name}: {error}"),
    }
}

/// Starts a thread with a name.
///
/// # Errors
/// The error of the operating system, if it refuses another thread.
pub fn try_spawn<T, F>(name: &str, f: F) -> io::Result<JoinHandle<T>>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    take_start()?;
    let inner = host::Builder::new().name(name.to_owned()).spawn(f)?;
    Ok(JoinHandle { name: name.to_owned(), inner })
}

/// Starts a thread of a [`scope`].
///
/// # Errors
/// The error of the operating system, if it refuses another thread.
pub fn try_spawn_scoped<'scope, F>(scope: &'scope Scope<'scope, '_>, name: &str, f: F) -> io::Result<()>
where
    F: FnOnce() + Send + 'scope,
{
    take_start()?;
    start_scoped(scope, name, f)
}

#[cfg(not(feature = "shuttle"))]
fn start_scoped<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    f: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, f).map(drop)
}

#[cfg(feature = "shuttle")]
fn start_scoped<'scope>(
    scope: &'scope Scope<'scope, '_>,
    _name: &str,
    f: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    scope.spawn(f);
    Ok(())
}

/// The number of threads that may still be started.
static STARTS_LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// For tests: from now on the process can start only this number of threads; `None` removes the
/// limit. Further starts fail as on a machine without resources for more threads.
pub fn limit_starts(threads: Option<usize>) {
    STARTS_LEFT.store(threads.unwrap_or(usize::MAX), Ordering::SeqCst);
}

fn take_start() -> io::Result<()> {
    let take = |left: usize| if left == usize::MAX { Some(left) } else { left.checked_sub(1) };
    match STARTS_LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
        Ok(_) => Ok(()),
        Err(_) => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// The identity of the current thread.
pub fn current_id() -> ThreadId {
    host::current().id()
}

/// Lets another thread run.
pub fn yield_now() {
    host::yield_now();
}

/// The number of threads that can run at once here, at least 1.
pub fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests;

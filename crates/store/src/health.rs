//! Whether the store is open, and whether it takes writes.

use crate::error::{Error, Result};
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The state of the store: open, poisoned (only reads are possible), or closed.
#[derive(Default)]
pub(crate) struct Health {
    /// Set when the store is closed. No file is used afterwards.
    closed: AtomicBool,
    /// The failure that ended writing.
    poisoned: OnceLock<Error>,
    /// The directory, if the store was opened for reading only.
    read_only: Option<PathBuf>,
}

impl Health {
    /// The health of a store that is being opened. `read_only` is the directory of the store if it is opened for
    /// reading only.
    pub fn new(read_only: Option<PathBuf>) -> Self {
        Self { read_only, ..Self::default() }
    }

    /// Returns an error if the store takes no writes from its users: the errors of [`Health::check_writable`], and an
    /// error if the store was opened for reading only. Such a store still writes its own notes to the log, which is in
    /// memory then.
    pub fn check_takes_writes(&self) -> Result<()> {
        match &self.read_only {
            Some(path) => self.check_open().and(Err(Error::OpenedForReading(path.clone()))),
            None => self.check_writable(),
        }
    }

    /// Returns an error if the store was closed. A poisoned store still reads.
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Returns an error if the log takes no writes.
    pub fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        match self.poisoned() {
            Some(cause) => Err(Error::Poisoned(Box::new(cause.clone()))),
            None => Ok(()),
        }
    }

    /// The failure that ended writing, if there was one.
    pub fn poisoned(&self) -> Option<&Error> {
        self.poisoned.get()
    }

    /// Sets the failure that ends writing. Returns false if an earlier failure was set.
    pub fn set_poisoned(&self, cause: Error) -> bool {
        self.poisoned.set(cause).is_ok()
    }

    /// Sets that the store is closed.
    pub fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Converts the result of a read. If the store was closed, an error becomes [`Error::Closed`], because another
    /// process may remove files then.
    pub fn read<T>(&self, result: alluvium_env::Result<T>) -> Result<T> {
        result.map_err(|error| self.check_open().err().unwrap_or(error.into()))
    }
}

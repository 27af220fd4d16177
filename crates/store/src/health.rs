//! Whether the store is open, and whether it takes writes.

use crate::error::{Error, Result};
use alluvium_env::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// The state of the store: open, poisoned (it only reads), or closed.
#[derive(Default)]
pub(crate) struct Health {
    /// No file is touched from now on.
    closed: AtomicBool,
    /// The failure that ended writing.
    poisoned: OnceLock<Error>,
}

impl Health {
    /// Errors if the store was closed. A poisoned store still reads.
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Errors if the store takes no writes.
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

    /// Notes the failure that ends writing; false if an earlier one did.
    pub fn set_poisoned(&self, cause: Error) -> bool {
        self.poisoned.set(cause).is_ok()
    }

    /// Notes that the store is closed.
    pub fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// A read that fails after the store was closed fails for that reason: another process may
    /// remove files then.
    pub fn read<T>(&self, result: alluvium_env::Result<T>) -> Result<T> {
        result.map_err(|error| self.check_open().err().unwrap_or(error.into()))
    }
}

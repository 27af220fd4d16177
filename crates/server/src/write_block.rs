//! Refuses the writes of users while `setUserWriteBlockMode` blocks them.

use crate::error::{CommandError, CommandResult};
use alluvium_env::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The databases whose writes are never blocked.
const FREE: [&str; 3] = ["admin", "config", "local"];

/// Whether writes are blocked, and why.
#[derive(Default)]
pub(crate) struct WriteBlock {
    is_on: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl WriteBlock {
    /// Blocks writes, or no longer. Both can be repeated with the same reason.
    ///
    /// # Errors
    /// Error 20 if they are blocked for another reason.
    pub(crate) fn set(&self, is_on: bool, reason: &str) -> CommandResult<()> {
        let mut present = self.reason.lock();
        if let Some(other) = present.as_deref().filter(|other| *other != reason) {
            let message = format!("writes are blocked already, with the reason {other} instead of {reason}");
            return Err(CommandError::illegal_operation(message));
        }
        *present = is_on.then(|| reason.to_owned());
        self.is_on.store(is_on, Ordering::Release);
        Ok(())
    }

    /// The reason for which writes are blocked, and if they are.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// Checks that a write to a database is not blocked.
    ///
    /// # Errors
    /// Error 371.
    pub(crate) fn check(&self, db: &str) -> CommandResult<()> {
        if !self.is_on.load(Ordering::Acquire) || FREE.contains(&db) {
            return Ok(());
        }
        Err(CommandError::new(371, "UserWritesBlocked", "User writes blocked: see setUserWriteBlockMode"))
    }
}

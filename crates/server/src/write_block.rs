//! Refuses the writes of users while `setUserWriteBlockMode` blocks them.

use crate::error::{CommandError, CommandResult};
use alluvium_env::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The databases whose writes are never blocked.
const FREE: [&str; 3] = ["admin", "config", "local"];

/// The state of the write block, and its reason.
#[derive(Default)]
pub(crate) struct WriteBlock {
    is_on: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl WriteBlock {
    /// Blocks or unblocks writes. Repeating a call with the same reason succeeds.
    ///
    /// # Errors
    /// Error 20 if writes are blocked for another reason.
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

    /// The reason why writes are blocked; `None` if they are not blocked.
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

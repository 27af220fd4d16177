//! The memory of a running command.

use crate::client::Client;
use crate::error::{CommandError, CommandResult};
use crate::memory::{Charge, Until};
use crate::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The most time that the decoding of a document waits for memory.
const MEMORY_WAIT: Duration = Duration::from_secs(30);

/// Charges the memory of documents to the account of requests.
pub(crate) struct Funds<'c> {
    /// The server.
    pub shared: &'c Shared,
    /// The connection.
    pub client: &'c Client,
    /// Set to end the command.
    pub stop: Arc<AtomicBool>,
}

impl Funds<'_> {
    /// Charges the memory of a decoded document or of a reply while a command is executed.
    ///
    /// # Errors
    /// Error 462 if the memory does not become free in time.
    pub(crate) fn charge(&self, bytes: usize, until: Until) -> CommandResult<Charge> {
        let (principal, _) = self.client.peer.principal();
        let charge = self.shared.memory.charge_on_thread(&principal, bytes, until, MEMORY_WAIT, &self.stop);
        charge.ok_or_else(|| CommandError::no_memory(bytes, &self.shared.memory))
    }
}

//! Reads files again while the server runs.

use crate::listener::{ServeError, Server};
use crate::shared::Shared;
use std::sync::Arc;

/// Reads the files of a server again, for a signal that reports that they were replaced.
#[derive(Clone)]
pub struct Reloader {
    shared: Arc<Shared>,
}

impl Reloader {
    /// The reloader of a server that listens.
    pub fn new(server: &Server) -> Self {
        Self { shared: server.shared() }
    }

    /// Opens the audit log again.
    ///
    /// # Errors
    /// [`ServeError::Audit`]: the previous file stays in use.
    pub fn reload(&self) -> Result<(), ServeError> {
        self.shared.security.audit.reopen().map_err(ServeError::Audit)
    }
}

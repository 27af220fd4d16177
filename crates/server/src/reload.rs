//! Reloads files while the server runs.

use crate::listener::{ServeError, Server};
use crate::shared::Shared;
use std::sync::Arc;

/// Reloads the files of a server, after a signal has reported that the files were replaced.
#[derive(Clone)]
pub struct Reloader {
    shared: Arc<Shared>,
}

impl Reloader {
    /// Creates the reloader of a server.
    pub fn new(server: &Server) -> Self {
        Self { shared: server.shared() }
    }

    /// Opens the audit log again, and reads the TLS certificates for later connections.
    ///
    /// # Errors
    /// [`ServeError::Audit`], [`ServeError::Tls`]: the previous file or certificates remain in use.
    pub fn reload(&self) -> Result<(), ServeError> {
        if let Some(tls) = &self.shared.tls {
            tls.reload().map_err(ServeError::Tls)?;
        }
        self.shared.security.audit.reopen().map_err(ServeError::Audit)
    }
}

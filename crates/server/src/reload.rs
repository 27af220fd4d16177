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

    /// Opens the audit log again, and reads the certificates of TLS for later connections.
    ///
    /// # Errors
    /// [`ServeError::Audit`], [`ServeError::Tls`]: the previous file or certificates stay in use.
    pub fn reload(&self) -> Result<(), ServeError> {
        if let Some(tls) = &self.shared.tls {
            tls.reload().map_err(ServeError::Tls)?;
        }
        self.shared.security.audit.reopen().map_err(ServeError::Audit)
    }
}

//! The unit for which the server counts requests and memory.

use std::sync::Arc;

/// The user of the login; without a login, the address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Principal(Arc<str>);

impl Principal {
    /// The client of an address without its port.
    pub(crate) fn address(host: &str) -> Self {
        Self(format!("address {host}").into())
    }

    /// A user, identified by name and database.
    pub(crate) fn user(id: &str) -> Self {
        Self(format!("user {id}").into())
    }

    /// True if both are the same object, which is a fast comparison.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

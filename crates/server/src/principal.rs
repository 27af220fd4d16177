//! Whom the server counts requests and memory for.

use std::sync::Arc;

/// The user who is logged in; without a login, the address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Principal(Arc<str>);

impl Principal {
    /// The client of an address without its port.
    pub(crate) fn address(host: &str) -> Self {
        Self(format!("address {host}").into())
    }

    /// A user, by the name with the database.
    pub(crate) fn user(id: &str) -> Self {
        Self(format!("user {id}").into())
    }

    /// True for the same object, which is soon compared.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

//! What is known about a connection.

use alluvium::Map;
use alluvium_env::sync::Mutex;

/// A connection, as commands see it.
pub(crate) struct Client {
    /// A number that no other connection of this server has.
    pub id: i32,
    /// The address, or the path of the socket.
    pub address: String,
    /// What the client says about itself in `hello`.
    pub metadata: Mutex<Option<Map>>,
}

impl Client {
    pub(crate) fn new(id: i32, address: String) -> Self {
        Self { id, address, metadata: Mutex::new(None) }
    }

    /// The user who is logged in.
    pub(crate) fn user(&self) -> Option<String> {
        None
    }
}

//! What is known about a connection.

use crate::security::login::Peer;
use alluvium::Map;
use alluvium_env::sync::Mutex;

/// A connection, as commands see it.
pub(crate) struct Client {
    /// A number that no other connection of this server has.
    pub id: i32,
    /// The address, or the path of the socket.
    pub address: String,
    /// The other end, and the login.
    pub peer: Peer,
    /// What the client says about itself in `hello`.
    pub metadata: Mutex<Option<Map>>,
}

impl Client {
    pub(crate) fn new(id: i32, peer: Peer) -> Self {
        Self { id, address: peer.address.clone(), peer, metadata: Mutex::new(None) }
    }

    /// The user who is logged in, as `db.name`.
    pub(crate) fn user(&self) -> Option<String> {
        self.peer.login().map(|login| login.name.id())
    }
}

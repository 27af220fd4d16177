//! The state of a connection.

use crate::fields::Fields;
use crate::memory::Charge;
use crate::running::Running;
use crate::security::login::Peer;
use crate::socket::is_gone;
use crate::waits::Waits;
use alluvium::Map;
use alluvium_env::sync::Mutex;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A connection, as commands use it.
pub(crate) struct Client {
    /// A number that no other connection of this server has.
    pub id: i32,
    /// The address, or the path of the socket.
    pub address: String,
    /// The other end of the connection, and the login.
    pub peer: Peer,
    /// The client's description of itself in `hello`.
    pub metadata: Mutex<Option<Map>>,
    /// The request that is executed now.
    pub running: Running,
    /// The connection ends, and no further reply is sent.
    closes: AtomicBool,
    /// The state of a request that waits.
    pub waits: Waits,
    /// The memory of the reply that is being made.
    reply_charge: Mutex<Option<Charge>>,
    /// The socket of the connection.
    socket: Option<Arc<OwnedFd>>,
}

impl Client {
    pub(crate) fn new(id: i32, peer: Peer, socket: Option<Arc<OwnedFd>>) -> Self {
        Self {
            id,
            address: peer.address.clone(),
            peer,
            metadata: Mutex::new(None),
            running: Running::default(),
            closes: AtomicBool::new(false),
            waits: Waits::default(),
            reply_charge: Mutex::new(None),
            socket,
        }
    }

    /// The application name that the client set in its first request. The first request may be this one.
    pub(crate) fn application(&self, body: &Map) -> Option<String> {
        let name = |metadata: &Map| Some(metadata.document("application")?.text("name")?.to_owned());
        match body.document("client") {
            Some(metadata) => name(metadata),
            None => self.metadata.lock().as_ref().and_then(name),
        }
    }

    /// Adds to the charged memory of the reply that is being made.
    pub(crate) fn charge_reply(&self, charge: Charge) {
        let mut known = self.reply_charge.lock();
        match &mut *known {
            Some(known) => known.add(charge),
            None => *known = Some(charge),
        }
    }

    /// Takes the charged memory of the finished reply.
    pub(crate) fn take_reply_charge(&self) -> Option<Charge> {
        self.reply_charge.lock().take()
    }

    /// Ends the running request if the client has disconnected.
    pub(crate) fn end_if_gone(&self) {
        if self.socket.as_ref().is_some_and(|socket| is_gone(socket)) {
            self.running.end();
        }
    }

    /// Ends the connection after the running request, without a reply to it.
    pub(crate) fn close(&self) {
        self.closes.store(true, Ordering::Relaxed);
    }

    /// True if the connection is to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closes.load(Ordering::Relaxed)
    }

    /// The user who is logged in, as `db.name`.
    pub(crate) fn user(&self) -> Option<String> {
        self.peer.login().map(|login| login.name.id())
    }
}

//! Logins: the SCRAM conversations of a connection, and the user who is logged in.

use super::Security;
use super::audit::Event;
use super::directory::Content;
use super::failures::Source;
use super::name::{EXTERNAL, Name};
use super::privilege::Privileges;
use super::random;
use crate::error::{CommandError, CommandResult};
use crate::host::Host;
use crate::principal::Principal;
use crate::tls::Greeting;
use alluvium::{Binary, Map, Value};
use alluvium_env::sync::Mutex;
use alluvium_wire::scram::{ClientFirst, Conversation, Credentials, Mechanism};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The mechanism for logins by client certificate.
pub(crate) const X509: &str = "MONGODB-X509";
/// The most bytes of a message in a conversation. Names and nonces are short.
const PAYLOAD_BYTES_MAX: usize = 4096;
/// The number of the conversation. A connection has one conversation at a time.
const CONVERSATION: i32 = 1;

/// The other end of a connection.
pub(crate) struct Peer {
    /// The address with its port, or the path of the socket.
    pub address: String,
    /// The address without its port, or the path of the socket.
    pub host: String,
    /// True if the client is on the same machine.
    pub is_local: bool,
    /// True for a connection to the owner's socket, which other users of the system cannot open.
    pub is_owner: bool,
    /// The subject of the verified client certificate.
    pub certificate: Option<String>,
    /// The address as a principal.
    principal: Principal,
    /// The address of this server that the client connected to.
    pub reached: Host,
    state: Mutex<State>,
}

/// The state of a connection's login.
#[derive(Default)]
struct State {
    login: Option<Login>,
    /// The user as a principal.
    principal: Option<Principal>,
    pending: Option<Pending>,
    delay: Duration,
}

/// A user who is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// The name.
    pub name: Name,
    /// The UUID that the user had at the login.
    id: Vec<u8>,
}

impl Login {
    /// The privileges of the user; `None` if the user does not exist any more.
    pub(crate) fn privileges(&self, content: &Content) -> Option<Arc<Privileges>> {
        content.privileges(&self.name, &self.id)
    }
}

/// A conversation that has not ended.
struct Pending {
    conversation: Conversation,
    name: Name,
    /// The UUID of the user, if the user exists.
    id: Option<Vec<u8>>,
}

impl Peer {
    /// A peer at an address of the network.
    pub(crate) fn network(address: SocketAddr, reached: Host) -> Self {
        let ip = address.ip().to_canonical();
        let (address, host, is_local) = (address.to_string(), ip.to_string(), ip.is_loopback());
        let (principal, state) = (Principal::address(&host), Mutex::default());
        Self { address, host, is_local, is_owner: false, certificate: None, principal, reached, state }
    }

    /// A peer at a Unix socket.
    pub(crate) fn socket(path: String) -> Self {
        let (host, principal, state) = (path.clone(), Principal::address(&path), Mutex::default());
        let reached = Host::of_socket(Path::new(&path));
        Self { address: path, host, is_local: true, is_owner: false, certificate: None, principal, reached, state }
    }

    /// The owner of the database, at the socket in its directory.
    pub(crate) fn owner(path: String) -> Self {
        Self { is_owner: true, ..Self::socket(path) }
    }

    /// Notes the data of a TLS handshake. If the client has sent a server name, `hello` returns this name as the
    /// address of the server.
    pub(crate) fn greet(&mut self, greeting: Greeting) {
        self.certificate = greeting.subject;
        if let Some(name) = greeting.server_name {
            let (_, port) = self.reached.parts();
            self.reached = Host::new(&name, port);
        }
    }

    /// The user who is logged in.
    pub(crate) fn login(&self) -> Option<Login> {
        self.state.lock().login.clone()
    }

    /// The principal for which requests are counted, and whether it is a user who is logged in.
    pub(crate) fn principal(&self) -> (Principal, bool) {
        let user = self.state.lock().principal.clone();
        let is_user = user.is_some();
        (user.unwrap_or_else(|| self.principal.clone()), is_user)
    }

    /// Logs in an existing user without a password.
    #[cfg(test)]
    pub(crate) fn log_in(&self, content: &Content, name: &Name) {
        let id = content.users[name].id.clone();
        self.state.lock().login = Some(Login { name: name.clone(), id });
    }

    /// Ends the login.
    pub(crate) fn log_out(&self) {
        *self.state.lock() = State::default();
    }

    /// Takes the delay of the answer to the last command; it is zero afterwards.
    pub(crate) fn take_delay(&self) -> Duration {
        std::mem::take(&mut self.state.lock().delay)
    }
}

/// The error of every failed login. It is the same for all reasons.
fn failed() -> CommandError {
    CommandError::new(18, "AuthenticationFailed", "Authentication failed.")
}

fn protocol(message: &str) -> CommandError {
    CommandError::new(17, "ProtocolError", message)
}

/// The bytes of a message, which is binary data or text in base64.
///
/// # Errors
/// Error 17 for another form.
pub(crate) fn payload(value: Option<&Value>) -> CommandResult<Vec<u8>> {
    let bytes = match value {
        Some(Value::Binary(binary)) => Some(binary.bytes.clone()),
        Some(Value::String(text)) => BASE64.decode(text.as_str()).ok(),
        _ => None,
    };
    bytes.filter(|bytes| bytes.len() <= PAYLOAD_BYTES_MAX).ok_or_else(|| protocol("the payload is missing or too long"))
}

fn reply(payload: Vec<u8>, done: bool) -> Map {
    Map::from([
        ("conversationId", Value::Int32(CONVERSATION)),
        ("done", Value::Bool(done)),
        ("payload", Value::Binary(Binary { subtype: 0, bytes: payload })),
    ])
}

impl Security {
    /// Answers the first message of a SCRAM conversation.
    ///
    /// # Errors
    /// Error 334 for another mechanism, error 17 if a user is logged in on the connection, error 18 for a malformed
    /// message.
    pub(crate) fn start(
        &self,
        peer: &Peer,
        db: &str,
        mechanism: &str,
        payload: &[u8],
        skips_empty_exchange: bool,
    ) -> CommandResult<Map> {
        let mechanism = Mechanism::by_name(mechanism).ok_or_else(|| {
            let message = format!("Received authentication for mechanism {mechanism} which is not enabled");
            CommandError::new(334, "MechanismUnavailable", message)
        })?;
        let first = ClientFirst::parse(payload).map_err(|error| {
            log::info!("a login from {} failed: {error}", peer.address);
            failed()
        })?;
        let name = Name::new(db, &first.user);
        let content = self.directory.content()?;
        let user = content.users.get(&name);
        let known = user.and_then(|user| Some((user.id.clone(), user.credentials_for(mechanism)?.clone())));
        let (id, credentials) = match known {
            Some((id, credentials)) => (Some(id), credentials),
            None => (None, Credentials::made_up(mechanism, &self.secret, db, &first.user)),
        };
        let nonce = BASE64.encode(random::bytes::<24>()?);
        let (conversation, message) =
            Conversation::begin(mechanism, first, credentials, id.is_some(), &nonce, skips_empty_exchange);
        let mut state = peer.state.lock();
        if state.login.as_ref().is_some_and(|login| login.name != name) {
            return Err(protocol("Each client connection may only be authenticated once"));
        }
        state.pending = Some(Pending { conversation, name, id });
        Ok(reply(message, false))
    }

    /// Answers a further message of the conversation.
    ///
    /// # Errors
    /// Error 17 without a conversation, error 18 for a wrong password.
    pub(crate) fn proceed(&self, peer: &Peer, conversation: i64, payload: &[u8]) -> CommandResult<Map> {
        let pending = peer.state.lock().pending.take();
        let mut pending = pending.ok_or_else(|| protocol("No SASL session state found"))?;
        if conversation != i64::from(CONVERSATION) {
            return Err(protocol("sasl: Mismatched conversation id"));
        }
        let step = match pending.conversation.step(payload) {
            Ok(step) => step,
            Err(error) => {
                log::info!("a login of {} from {} failed: {error}", pending.name, peer.address);
                return Err(self.refuse(peer, &pending.name, "saslContinue"));
            }
        };
        if !step.done {
            peer.state.lock().pending = Some(pending);
            return Ok(reply(step.payload, false));
        }
        let Pending { name, id, .. } = pending;
        let id = id.ok_or_else(failed)?;
        self.accept(peer, Login { name, id }, "saslContinue");
        Ok(reply(step.payload, true))
    }

    /// Logs in the user whose name is the subject of the client's certificate.
    ///
    /// # Errors
    /// Error 18 without a certificate, or without such a user.
    pub(crate) fn log_in_by_certificate(&self, peer: &Peer, wanted: Option<&str>) -> CommandResult<Map> {
        let subject = peer.certificate.as_deref().unwrap_or_default();
        let name = Name::new(EXTERNAL, subject);
        let content = self.directory.content()?;
        let is_right = !subject.is_empty() && wanted.is_none_or(|wanted| wanted == subject);
        match content.users.get(&name).filter(|user| user.is_external && is_right) {
            Some(user) => {
                self.accept(peer, Login { name: name.clone(), id: user.id.clone() }, "authenticate");
                Ok(Map::from([("dbname", Value::from(EXTERNAL)), ("user", Value::from(subject))]))
            }
            None => Err(self.refuse(peer, &name, "authenticate")),
        }
    }

    fn accept(&self, peer: &Peer, login: Login, command: &str) {
        let delay = self.failures.delay(&sources(peer, &login.name));
        self.audit.write(&Event {
            message: None,
            kind: "login",
            address: &peer.address,
            user: Some(login.name.to_string()),
            command,
            namespace: &login.name.db,
            error: None,
        });
        let principal = Some(Principal::user(&login.name.id()));
        *peer.state.lock() = State { login: Some(login), principal, pending: None, delay };
    }

    fn refuse(&self, peer: &Peer, name: &Name, command: &str) -> CommandError {
        let sources = sources(peer, name);
        self.failures.add(sources.clone());
        peer.state.lock().delay = self.failures.delay(&sources);
        let error = failed();
        self.audit.write(&Event {
            message: None,
            kind: "login",
            address: &peer.address,
            user: Some(name.to_string()),
            command,
            namespace: &name.db,
            error: Some((error.code, error.name)),
        });
        error
    }

    /// The privileges of the user of a connection. Changes of users and roles apply at once.
    ///
    /// # Errors
    /// Error 13 without a login, or if the user was dropped.
    pub(crate) fn privileges(&self, login: Option<&Login>, command: &str) -> CommandResult<Arc<Privileges>> {
        let missing = || CommandError::unauthorized(format!("Command {command} requires authentication"));
        let login = login.ok_or_else(missing)?;
        let content = self.directory.content()?;
        login.privileges(&content).ok_or_else(missing)
    }

    /// The mechanisms by which a user can log in, as `hello` names them: `user` is `db.name`. For a user who does not
    /// exist, all mechanisms are returned.
    ///
    /// # Errors
    /// Error 2 for another form of the name; errors of reading.
    pub(crate) fn mechanisms(&self, user: &str) -> CommandResult<Vec<Value>> {
        let (db, name) = user
            .split_once('.')
            .ok_or_else(|| CommandError::bad_value("UserName must contain a '.' separated database.user pair"))?;
        let content = self.directory.content()?;
        Ok(match content.users.get(&Name::new(db, name)) {
            Some(user) => user.mechanisms(),
            None => Mechanism::ALL.iter().rev().map(|mechanism| Value::from(mechanism.name())).collect(),
        })
    }
}

fn sources(peer: &Peer, name: &Name) -> [Source; 2] {
    [Source::Address(peer.host.clone()), Source::User(name.id())]
}

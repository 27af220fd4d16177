//! Accepts connections.

mod door;

use crate::admin;
use crate::admission;
use crate::client::Client;
use crate::config::Config;
use crate::connection::Connection;
use crate::host::Host;
use crate::pulse::Pulse;
use crate::replica_set::ReplicaSet;
use crate::security::Security;
use crate::security::audit::Audit;
use crate::security::directory::Rules;
use crate::security::login::Peer;
use crate::shared::Shared;
use crate::socket::{Socket, Stream};
use crate::threads::{Serving, Wish};
use crate::tls::{Greeting, Tls, TlsError};
use alluvium::Database;
use door::Door;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

/// The threads that wait for connections, in addition to the threads that execute requests.
const IO_THREADS: usize = 2;
/// The threads for housekeeping.
const BLOCKING_THREADS: usize = 4;
/// The time between two searches for cursors that were not read for long.
const HOUSEKEEPING: Duration = Duration::from_secs(10);
/// The time between two searches for transactions that have been open for too long.
const TRANSACTIONS: Duration = Duration::from_secs(1);
/// The pause after a failure to accept a connection, for example because of too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The time that running requests have to end when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// While the server stops, it ends all commands again after this time.
const END_AGAIN: Duration = Duration::from_millis(50);

/// The reason why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The server cannot listen on an address.
    #[error("cannot listen at {address}: {source}: choose another address, or end the program that uses it")]
    Listen {
        /// The address, or the path of a socket.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Other machines could reach a database without users.
    #[error("the database has no users, and would be open to every machine that reaches {0}: create a user first")]
    Unprotected(SocketAddr),
    /// The audit log cannot be opened.
    #[error("cannot open the audit log: {0}")]
    Audit(alluvium_env::Error),
    /// TLS cannot be used.
    #[error("cannot use TLS: {0}")]
    Tls(TlsError),
    /// The users of the database cannot be read.
    #[error("cannot read the users of the database: {0}")]
    Users(String),
    /// The configuration of the replica set cannot be read.
    #[error("cannot read the configuration of the replica set: {0}")]
    ReplicaSet(String),
    /// The settings that clients have stored cannot be read.
    #[error("cannot read the settings of the server: {0}")]
    Settings(String),
    /// The system refuses to create threads.
    #[error("cannot start the threads of the server: {0}")]
    Threads(io::Error),
}

/// A server that listens. It does not accept connections yet.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listeners: Vec<TcpListener>,
    sockets: Vec<(UnixListener, SocketFile)>,
    monitors: Vec<TcpListener>,
    /// The socket of the owner.
    door: Option<Door>,
    shared: Arc<Shared>,
}

/// The file of a Unix socket, which is removed when this value is dropped.
struct SocketFile(PathBuf);

/// The users of a database, with the file of the audit. With `certificates`, clients may log in by theirs.
pub(crate) fn open_security(db: &Database, config: &Config, certificates: bool) -> Result<Security, ServeError> {
    let rules = Rules { logins: config.authentication, certificates };
    let audit = Audit::open(&db.as_ref().env, config.audit.as_deref()).map_err(ServeError::Audit)?;
    Security::open(db, rules, audit).map_err(|error| ServeError::Users(error.message))
}

impl Server {
    /// Listens on the addresses in the settings.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn bind(db: &Database, config: Config) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("alluvium-net")
            .worker_threads(admission::of_all(config.threads.max(1)) + admission::CONTROL + IO_THREADS)
            .max_blocking_threads(BLOCKING_THREADS + config.threads)
            .build()
            .map_err(ServeError::Threads)?;
        let certificates = config.tls.as_ref().is_some_and(|files| files.authorities.is_some());
        let security = open_security(db, &config, certificates)?;
        let tls = config.tls.clone().map(|files| Tls::open(&db.as_ref().env, files));
        let tls = tls.transpose().map_err(ServeError::Tls)?;
        let is_open = |address: &&SocketAddr| !address.ip().to_canonical().is_loopback();
        if let Some(address) = config.listen.iter().find(is_open).filter(|_| security.is_open_to_all()) {
            return Err(ServeError::Unprotected(*address));
        }
        let Bound { listeners, sockets, monitors } = runtime.block_on(async { bind_all(&config).await })?;
        let first = listeners.iter().find_map(|listener| listener.local_addr().ok());
        let address = match (first, sockets.first()) {
            (Some(address), _) => address.to_string(),
            (None, Some((_, file))) => file.0.display().to_string(),
            (None, None) => "localhost:27017".to_owned(),
        };
        let set = ReplicaSet::open(db, &config).map_err(|error| ServeError::ReplicaSet(error.message))?;
        let shared = Shared::new(db.clone(), config, &address, set, security, tls);
        let shared = Arc::new(shared.map_err(|error| ServeError::Settings(error.message))?);
        Ok(Self { runtime, listeners, sockets, monitors, door: None, shared })
    }

    /// The addresses that the server listens on. For a port 0, the port is the one that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The addresses on which the server answers monitors.
    pub fn admin_addresses(&self) -> Vec<SocketAddr> {
        self.monitors.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The state that all connections share.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Serves connections until `stopped` returns, which runs on a thread of its own. Then, running requests are ended
    /// at their next step, and new requests are refused. All commands reach their next step within a second.
    pub fn run(self, stopped: impl FnOnce() + Send + 'static) {
        let Self { runtime, listeners, sockets, monitors, door, shared } = self;
        let _pulse = Pulse::start(Arc::clone(&shared), runtime.handle().clone());
        runtime.block_on(async {
            let (stop, stopping) = watch::channel(false);
            let (open, mut all_closed) = mpsc::channel(1);
            let mut accepting = JoinSet::new();
            let mut files = Vec::new();
            for listener in listeners {
                let acceptor = Acceptor::new(&shared, &stopping, &open);
                accepting.spawn(async move { acceptor.tcp(listener).await });
            }
            for (listener, file) in sockets {
                let acceptor = Acceptor::new(&shared, &stopping, &open);
                let path = file.0.display().to_string();
                files.push(file);
                accepting.spawn(async move { acceptor.unix(listener, path).await });
            }
            for listener in monitors {
                tokio::spawn(admin::serve(listener, Arc::clone(&shared)));
            }
            if let Some(door) = door {
                let acceptor = Acceptor::new(&shared, &stopping, &open);
                accepting.spawn(async move { acceptor.owner(door).await });
            }
            let keeping = tokio::spawn(keep_house(Arc::clone(&shared)));
            let (ended, waiting) = oneshot::channel();
            // The server does not wait for the end of this thread, because the command `shutdown` may stop the server
            // first.
            let _waiting = alluvium_env::thread::spawn("alluvium-stop", move || {
                stopped();
                let _no_receiver_is_fine = ended.send(());
            });
            tokio::select! {
                _ = waiting => {}
                () = shared.shutdown.notified() => {}
            }
            shared.stopping.store(true, Ordering::Relaxed);
            let _no_receiver_is_fine = stop.send(true);
            keeping.abort();
            drop(open);
            let closed = tokio::time::timeout(GRACE, async {
                while accepting.join_next().await.is_some() {}
                while all_closed.recv().await.is_some() {}
            });
            // Repeats this, because a command may not have been listed yet the first time, or may have replaced its
            // flag.
            let ending = async {
                loop {
                    shared.operations.end_all();
                    tokio::time::sleep(END_AGAIN).await;
                }
            };
            tokio::select! {
                _late = closed => {}
                () = ending => {}
            }
        });
        runtime.shutdown_timeout(GRACE);
        shared.sessions.abort_all_transactions();
        shared.cluster_time.close();
    }
}

async fn keep_house(shared: Arc<Shared>) {
    let known = Arc::clone(&shared);
    let _logged = tokio::task::spawn_blocking(move || known.remember_sessions()).await;
    let mut since = Duration::ZERO;
    loop {
        tokio::time::sleep(TRANSACTIONS).await;
        since += TRANSACTIONS;
        let shared = Arc::clone(&shared);
        let is_all = since >= HOUSEKEEPING;
        let keep = move || {
            shared.expire_transactions();
            if is_all {
                shared.expire();
            }
        };
        let _logged = tokio::task::spawn_blocking(keep).await;
        if is_all {
            since = Duration::ZERO;
        }
    }
}

/// The sockets and addresses that a server listens on.
struct Bound {
    listeners: Vec<TcpListener>,
    sockets: Vec<(UnixListener, SocketFile)>,
    monitors: Vec<TcpListener>,
}

async fn bind_all(config: &Config) -> Result<Bound, ServeError> {
    let failed = |address: String| move |source| ServeError::Listen { address, source };
    let mut bound = Bound { listeners: Vec::new(), sockets: Vec::new(), monitors: Vec::new() };
    let addresses = distinct(&config.listen);
    for address in &addresses {
        match TcpListener::bind(address).await {
            Ok(listener) => bound.listeners.push(listener),
            // On some systems, listening on all IPv6 addresses includes all IPv4 addresses. The listener exists already
            // then.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_of_all(&bound.listeners, address) => {}
            Err(error) => return Err(failed(address.to_string())(error)),
        }
    }
    for address in &config.admin_listen {
        bound.monitors.push(TcpListener::bind(address).await.map_err(failed(address.to_string()))?);
    }
    for path in &config.sockets {
        bound.sockets.push(bind_socket(path).await.map_err(failed(path.display().to_string()))?);
    }
    Ok(bound)
}

/// Removes duplicate addresses, and addresses that an address of the whole machine with the same port includes. The
/// IPv6 address of the whole machine comes first. Addresses with port 0 are all kept, because each gets another port.
fn distinct(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut kept: Vec<SocketAddr> = Vec::new();
    let is_all = |address: &SocketAddr| address.ip().is_unspecified();
    let (all, others): (Vec<SocketAddr>, Vec<SocketAddr>) = addresses.iter().copied().partition(is_all);
    let (first, then): (Vec<SocketAddr>, Vec<SocketAddr>) = all.into_iter().partition(SocketAddr::is_ipv6);
    for address in [first, then, others].concat() {
        let includes = |other: &SocketAddr| {
            let same_kind = other.is_ipv4() == address.is_ipv4();
            other.port() == address.port() && (*other == address || is_all(other) && same_kind)
        };
        if address.port() == 0 || !kept.iter().any(includes) {
            kept.push(address);
        }
    }
    kept
}

/// True for an IPv4 address if a listener has the same port on all IPv6 addresses.
fn is_of_all(listeners: &[TcpListener], address: &SocketAddr) -> bool {
    let listening = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let mut all = listening.filter(|other| other.is_ipv6() && other.ip().is_unspecified());
    address.is_ipv4() && all.any(|other| other.port() == address.port())
}

/// Listens on a Unix socket. The socket file of a killed process is replaced.
// Sockets are not files of the database, and are therefore not part of simulated power cuts.
#[allow(clippy::disallowed_methods)]
async fn bind_socket(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    if path.exists() && tokio::net::UnixStream::connect(path).await.is_err() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok((listener, SocketFile(path.to_owned())))
}

impl Drop for SocketFile {
    #[allow(clippy::disallowed_methods)]
    fn drop(&mut self) {
        let _may_be_gone = std::fs::remove_file(&self.0);
    }
}

/// Accepts the connections of one listener.
struct Acceptor {
    shared: Arc<Shared>,
    stopping: watch::Receiver<bool>,
    /// Each open connection holds a clone.
    open: mpsc::Sender<()>,
}

impl Acceptor {
    fn new(shared: &Arc<Shared>, stopping: &watch::Receiver<bool>, open: &mpsc::Sender<()>) -> Self {
        Self { shared: Arc::clone(shared), stopping: stopping.clone(), open: open.clone() }
    }

    async fn tcp(mut self, listener: TcpListener) {
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => {
                        // Replies are written as a whole. Waiting for more bytes would only delay them.
                        let _works_without = stream.set_nodelay(true);
                        // If the system does not know the local address any more, the connection has ended already.
                        let reached = Host::of_ip(stream.local_addr().unwrap_or(address));
                        let peer = Peer::network(address, reached);
                        let socket = stream.into_std().and_then(Socket::new);
                        if self.shared.tls.is_some() {
                            self.serve(peer, handshake(Arc::clone(&self.shared), socket));
                        } else {
                            self.serve(peer, async { Ok((socket?, Greeting::default())) });
                        }
                    }
                    Err(error) => pause(&error).await,
                },
                _ = self.stopping.changed() => break,
            }
        }
    }

    async fn unix(mut self, listener: UnixListener, path: String) {
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let socket = stream.into_std().and_then(Socket::new);
                        self.serve(Peer::socket(path.clone()), async { Ok((socket?, Greeting::default())) });
                    }
                    Err(error) => pause(&error).await,
                },
                _ = self.stopping.changed() => break,
            }
        }
    }

    /// Serves a connection. `open` prepares the connection.
    fn serve<S: Stream>(
        &mut self,
        mut peer: Peer,
        open: impl Future<Output = io::Result<(S, Greeting)>> + Send + 'static,
    ) {
        let counters = &self.shared.figures;
        if counters.connections.load(Ordering::Relaxed) >= self.shared.config.connections_max {
            log::warn!(
                "a connection from {} was refused: there are {} already",
                peer.address,
                self.shared.config.connections_max
            );
            return;
        }
        let Some(admitted) = self.shared.peers.admit(&peer.host) else {
            log::warn!("a connection from {} was refused: this address has too many", peer.address);
            return;
        };
        counters.connections.fetch_add(1, Ordering::Relaxed);
        counters.connections_total.fetch_add(1, Ordering::Relaxed);
        let id = self.shared.last_connection.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let shared = Arc::clone(&self.shared);
        let stopping = self.stopping.clone();
        let (wish, is_open) = (Wish::default(), self.open.clone());
        let wishes = wish.clone();
        let connection = async move {
            let _until_it_ends = (admitted, is_open);
            match open.await {
                Ok((mut stream, greeting)) => {
                    peer.greet(greeting);
                    let client = Client::new(id, peer, stream.socket().map(|socket| socket.descriptor()));
                    Connection::new(stream, Arc::clone(&shared), client, stopping, wishes).serve().await;
                }
                Err(error) => log::info!("a connection from {} ended: {error}", peer.address),
            }
            shared.figures.connections.fetch_sub(1, Ordering::Relaxed);
        };
        tokio::spawn(Serving::new(Arc::clone(&self.shared.threads), wish, connection));
    }
}

/// The TLS handshake.
async fn handshake(shared: Arc<Shared>, socket: io::Result<Socket>) -> io::Result<(TlsStream<Socket>, Greeting)> {
    match &shared.tls {
        Some(tls) => tls.accept(socket?).await,
        None => Err(io::ErrorKind::Unsupported.into()),
    }
}

async fn pause(error: &io::Error) {
    log::warn!("a connection could not be accepted: {error}");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

#[cfg(test)]
mod tests;

//! `alluvium serve`: a server for MongoDB's clients.

use crate::allocator::Returner;
use crate::context::Context;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::process;
use crate::served::host;
use crate::session;
use crate::settings::database::DatabaseArgs;
use crate::settings::retention;
use crate::signals::{self, SIGNAL_CHECK, Stop};
use crate::text;
use alluvium::{ChangeRetention, ChangeScope, Database};
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_server::{Config, Host, Reloader, ServeError, Server, SetName, TlsFiles};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium serve my.db
  mongosh mongodb://localhost:27017/main

  alluvium serve my.db --port 27018
  alluvium serve my.db --listen 127.0.0.1:27018 --socket /run/alluvium.sock
  alluvium serve my.db --listen 0.0.0.0:27017 --audit audit.jsonl
  alluvium serve my.db --listen 0.0.0.0:27017 --advertise db.example:27017

Serves the database to MongoDB's drivers, shell and tools, until ctrl-C or SIGTERM; creates it if it does not exist. The collection `pets` is \
`pets` of the database `main` there; `shop.orders` is `orders` of `shop`. docs/COMPATIBILITY.md lists what is supported.

While the server runs, the other commands run in it, with the same output and exit codes: find, put, load, checkpoint and so on. They reach it by the \
socket server.sock in the directory of the database, which only its owner may use, and which needs no login; mongosh and drivers may connect to it, \
too. A shell has its commands run there, and completes no names. Commands that need the database for themselves (repair, build, restore and \
another serve) do not run until the server ends.


Every connection of this machine may do everything until the first user is created (createUser). From then on, every connection has to log in. \
docs/SERVER.md has more about users.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// An address to listen at; may be repeated
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:27017")]
    listen: Vec<String>,
    /// The port to listen at, on this machine only: the same as --listen 127.0.0.1:PORT
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// An address for monitors, which get /metrics (Prometheus), /health and /ready over HTTP; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    admin_listen: Vec<String>,
    /// A Unix socket to listen at; may be repeated
    #[arg(long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// The address by which clients are sent to this server; by default, each stays with the one that it arrived at
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<Host>,
    /// The name of the replica set whose only member the server is, which drivers need for retried writes; by default, one that no other
    /// database has
    #[arg(long, value_name = "NAME", conflicts_with = "standalone")]
    replica_set: Option<String>,
    /// Serve as a server of its own instead of a replica set
    #[arg(long)]
    standalone: bool,
    /// The most connections at a time
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    connections: usize,
    /// The most connections of one address at a time; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    connections_per_address: usize,
    /// The most requests that are executed at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    threads: usize,
    /// Let every connection do everything, even if the database has users
    #[arg(long)]
    without_authentication: bool,
    /// The certificate of the server in PEM, with its chain: all TCP connections use TLS then; SIGHUP reads the files again
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate in PEM, if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// The authorities of the certificates of clients in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_ca: Option<PathBuf>,
    /// Refuse clients without a certificate
    #[arg(long, requires = "tls_ca")]
    tls_require_client_certificate: bool,
    /// A file that gets a line of JSON for each login, refusal and act of administration; SIGHUP opens it again
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// New collections keep the order of insertion: finds without a sort return documents in it; writes to one collection
    /// are made one after the other
    #[arg(long)]
    natural_order: bool,
    /// When changes of documents are recorded for change streams: as long as a stream reads them, or always, until `alluvium changes stop`
    #[arg(long, value_name = "WHEN", value_enum, default_value = "watched")]
    changes: Changes,
    /// Show the recorded changes as `local.oplog.rs`, for Meteor and other programs that follow the log of operations; records
    /// always, until `alluvium changes stop`
    #[arg(long, conflicts_with = "standalone")]
    oplog: bool,
    /// How long recorded changes are kept, and how many bytes of them: a time, a size, or both
    #[arg(long, value_name = "TIME,SIZE", value_parser = retention::parse, default_value = "24h,4G")]
    change_retention: ChangeRetention,
    /// Accept commands that only tests need, such as configureFailPoint
    #[arg(long)]
    enable_test_commands: bool,
}

/// When changes of documents are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Changes {
    /// While change streams read them, and as `alluvium changes record` has chosen
    Watched,
    /// Those of all collections, until `alluvium changes stop`
    Always,
}

impl Args {
    /// Serves until a signal.
    pub(crate) fn run(&self, context: Context<'_>) -> Outcome {
        if session::is_open() {
            return Err(Failure::Usage("a shell has the database open: serve it from the command line".to_owned()));
        }
        self.database.refuse_read_only("build a database of it with export and load, and serve that")?;
        let config = self.config()?;
        let stop = Stop::on_signals()?;
        let hang_up = signals::hang_up()?;
        let builder = self.database.creating()?.change_retention(self.change_retention);
        if self.database.is_new(&builder)? {
            // A server that cannot listen must not create a database.
            config.listen.iter().chain(&config.admin_listen).try_for_each(check_free)?;
        }
        self.database.with_builder(builder, |database| {
            if self.changes == Changes::Always || self.oplog {
                database.record_changes(ChangeScope::Everything)?;
            }
            let mut server = Server::bind(database, config).map_err(failed)?;
            if let Err(error) = server.admit_owner(Some(host::runner(context.run_for_visitor))) {
                log::warn!("commands do not run on this database until the server ends: {error}");
            }
            let reloader = Reloader::new(&server);
            let mut memory = Memory::of(database);
            let mut out = Output::new();
            for address in server.addresses() {
                out.text(&format!("listening at {address}\n"))?;
            }
            for address in server.admin_addresses() {
                out.text(&format!("answering monitors at http://{address}/metrics\n"))?;
            }
            for path in &self.socket {
                out.text(&format!("listening at {}\n", text::path(path)))?;
            }
            out.finish()?;
            server.run(move || {
                let (nothing, never) = (Mutex::new(()), Condvar::new());
                while !stop.is_set() {
                    never.wait_for(&mut nothing.lock(), SIGNAL_CHECK);
                    memory.look();
                    if hang_up.swap(false, Ordering::Relaxed)
                        && let Err(error) = reloader.reload()
                    {
                        log::error!("SIGHUP: {error}");
                    }
                }
            });
            Ok(())
        })
    }

    fn config(&self) -> Outcome<Config> {
        let (mut listen, mut admin_listen) = (Vec::new(), Vec::new());
        match self.port {
            Some(port) => listen.push(SocketAddr::from(([127, 0, 0, 1], port))),
            None => {
                for address in &self.listen {
                    listen.extend(resolved("--listen", address)?);
                }
            }
        }
        for address in &self.admin_listen {
            admin_listen.extend(resolved("--admin-listen", address)?);
        }
        let name = self.replica_set.clone().map_or(SetName::OfDatabase, SetName::Given);
        let replica_set = (!self.standalone).then_some(name);
        Ok(Config {
            listen,
            admin_listen,
            sockets: self.socket.clone(),
            replica_set,
            advertise: self.advertise.clone(),
            connections_max: self.connections,
            connections_per_address: self.connections_per_address,
            tls: self.tls_certificate.as_ref().map(|certificate| TlsFiles {
                certificate: certificate.clone(),
                key: self.tls_key.clone(),
                authorities: self.tls_ca.clone(),
                requires_client_certificate: self.tls_require_client_certificate,
            }),
            threads: self.threads,
            authentication: !self.without_authentication,
            audit: self.audit.clone(),
            natural_order: self.natural_order,
            oplog: self.oplog,
            test_commands: self.enable_test_commands,
            ..Config::default()
        })
    }
}

/// Refuses an address at which no server can listen.
fn check_free(address: &SocketAddr) -> Outcome {
    let listen = |source| failed(ServeError::Listen { address: address.to_string(), source });
    TcpListener::bind(address).map(drop).map_err(listen)
}

fn failed(error: ServeError) -> Failure {
    let help = match error {
        ServeError::Unprotected(_) => {
            ".\nServe it at 127.0.0.1 (the default), and create the first user there with mongosh:\n  \
             db.getSiblingDB(\"admin\").createUser({user: \"admin\", pwd: passwordPrompt(), roles: [\"root\"]})\n\
             Or serve it to everyone with --without-authentication"
        }
        _ => "",
    };
    Failure::Other(format!("{error}{help}"))
}

/// Returns memory to the system that the server has freed.
pub(super) struct Memory {
    database: Database,
    env: Env,
    returner: Returner,
}

impl Memory {
    pub fn of(database: &Database) -> Self {
        Self { database: database.clone(), env: Env::os(), returner: Returner::default() }
    }

    /// Returns freed memory to the system if there is much of it; to be called often.
    fn look(&mut self) {
        let resident = || process::resident_bytes().and_then(|bytes| usize::try_from(bytes).ok());
        let used = || {
            let stats = self.database.stats();
            stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes + stats.job_bytes + stats.query_bytes
        };
        if self.returner.look(self.env.clock.now(), resident, used) {
            log::debug!("freed memory was returned: {} bytes are resident", resident().unwrap_or_default());
        }
    }
}

/// Returns a function that waits for a signal.
pub(super) fn until_signal(stop: Stop, mut memory: Memory) -> impl FnOnce() + Send + 'static {
    move || {
        let (nothing, never) = (Mutex::new(()), Condvar::new());
        while !stop.is_set() {
            never.wait_for(&mut nothing.lock(), SIGNAL_CHECK);
            memory.look();
        }
    }
}

/// The addresses of a host and a port.
fn resolved(option: &str, address: &str) -> Outcome<Vec<SocketAddr>> {
    match address.to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => {
            Err(Failure::Usage(format!("{option} {address}: {error}: write HOST:PORT, such as 127.0.0.1:27017")))
        }
    }
}

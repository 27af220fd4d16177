//! Settings of a server.

use crate::host::{Host, SetName};
use crate::tls::TlsFiles;
use alluvium_wire::compression::Compressor;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The version of MongoDB that the commands follow. Clients compare it with the versions that they support.
pub const MONGODB_VERSION: &str = "8.2.0";

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// The addresses on which monitors reach `/metrics`, `/health` and `/ready` over HTTP.
    pub admin_listen: Vec<SocketAddr>,
    /// The paths of the Unix sockets to listen on.
    pub sockets: Vec<PathBuf>,
    /// The name of the replica set whose only member is this server; `None` for a standalone server.
    pub replica_set: Option<SetName>,
    /// The address that clients are given. By default, each client keeps the address that it connected to.
    pub advertise: Option<Host>,
    /// The most connections at a time.
    pub connections_max: usize,
    /// The most connections of one address at a time; 0 means no limit.
    pub connections_per_address: usize,
    /// The files for TLS, which connections over the network then use. Connections over Unix sockets do not use TLS.
    pub tls: Option<TlsFiles>,
    /// The most requests of one user or address that are executed at a time; further requests wait.
    pub threads: usize,
    /// The memory of all requests and replies in bytes; 0 means a quarter of the memory of the database, and at least
    /// 128 MB.
    pub request_bytes_max: usize,
    /// The time that a client may take to read a reply while memory is short. The time for the length of the reply is
    /// added.
    pub unread_max: Duration,
    /// True if commands need a login after the first user was created. Before that, connections from other machines may
    /// run no commands.
    pub authentication: bool,
    /// The file of the audit log, which has a line for each login, refusal and administrative act.
    pub audit: Option<PathBuf>,
    /// The initial level of the profilers of databases: 0 keeps nothing, 1 keeps slow operations, 2 keeps all
    /// operations.
    pub profile: u8,
    /// The milliseconds after which an operation is slow; the default is the default of MongoDB.
    pub slow_ms: Option<i64>,
    /// The compressors of messages that clients may choose from.
    pub compressors: Vec<Compressor>,
    /// True if new collections keep the order of insertion.
    pub natural_order: bool,
    /// True if `local.oplog.rs` is shown. The changes of all collections have to be recorded then.
    pub oplog: bool,
    /// True if commands for tests are accepted.
    pub test_commands: bool,
}

impl Default for Config {
    /// A replica set of one member, which has the name of its database and listens on no address.
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            admin_listen: Vec::new(),
            sockets: Vec::new(),
            replica_set: Some(SetName::OfDatabase),
            advertise: None,
            connections_max: 20_000,
            connections_per_address: 0,
            tls: None,
            threads: 64,
            request_bytes_max: 0,
            unread_max: Duration::from_secs(30),
            authentication: true,
            audit: None,
            profile: 0,
            slow_ms: None,
            compressors: Compressor::ALL.to_vec(),
            natural_order: false,
            oplog: false,
            test_commands: false,
        }
    }
}

//! Settings of a server.

use crate::host::{Host, SetName};
use crate::tls::TlsFiles;
use alluvium_wire::compression::Compressor;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The version of MongoDB whose commands are followed, which clients compare.
pub const MONGODB_VERSION: &str = "8.2.0";

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The addresses to listen at.
    pub listen: Vec<SocketAddr>,
    /// The addresses for monitors: `/metrics`, `/health` and `/ready` over HTTP.
    pub admin_listen: Vec<SocketAddr>,
    /// The paths of Unix sockets to listen at.
    pub sockets: Vec<PathBuf>,
    /// The name of the replica set that the server is the only member of; `None` for a server of its own.
    pub replica_set: Option<SetName>,
    /// The address by which clients are sent to this server; by default, each stays with the one that it arrived at.
    pub advertise: Option<Host>,
    /// The most connections at a time.
    pub connections_max: usize,
    /// The most connections of one address at a time; 0 is no limit.
    pub connections_per_address: usize,
    /// Connections at addresses of the network use TLS with these files; those at Unix sockets do not.
    pub tls: Option<TlsFiles>,
    /// The most requests of one user or address that are executed at a time; others wait.
    pub threads: usize,
    /// The memory of all requests and replies in bytes; 0 is a quarter of the database's, and at least 128 MB.
    pub request_bytes_max: usize,
    /// The time that a client may take to read a reply while memory is short, in addition to the time for the reply's
    /// length.
    pub unread_max: Duration,
    /// Commands need a login once there is a user. Until then, connections from other machines may run no command.
    pub authentication: bool,
    /// The file that gets a line for each login, refusal and act of administration.
    pub audit: Option<PathBuf>,
    /// The initial level of the profilers of databases: 0 keeps nothing, 1 slow operations, 2 all.
    pub profile: u8,
    /// The milliseconds after which an operation is slow; by default, MongoDB's.
    pub slow_ms: Option<i64>,
    /// The compressors of messages that clients may choose from.
    pub compressors: Vec<Compressor>,
    /// Collections that are created keep the order of insertion.
    pub natural_order: bool,
    /// Commands for tests are accepted.
    pub test_commands: bool,
}

impl Default for Config {
    /// A replica set of one member with a name of its own, which listens nowhere.
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
            test_commands: false,
        }
    }
}

//! `alluvium serve`: a server for MongoDB's clients.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::session;
use crate::settings::database::DatabaseArgs;
use crate::signals::{SIGNAL_CHECK, Stop};
use crate::text;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_server::{Config, Server};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium serve my.db
  mongosh mongodb://localhost:27017/main

  alluvium serve my.db --listen 127.0.0.1:27018 --socket /run/alluvium.sock

Serves the database to MongoDB's drivers, shell and tools, until ctrl-C or SIGTERM; creates it if it does not exist. The collection `pets` is \
`pets` of the database `main` there; `shop.orders` is `orders` of `shop`. docs/COMPATIBILITY.md lists what is supported.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// An address to listen at; may be repeated
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:27017")]
    listen: Vec<String>,
    /// An address for monitors, which get /metrics (Prometheus), /health and /ready over HTTP; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    admin_listen: Vec<String>,
    /// A Unix socket to listen at; may be repeated
    #[arg(long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// The name of the replica set whose only member the server is, which drivers need for retried writes
    #[arg(long, value_name = "NAME", default_value = "alluvium", conflicts_with = "standalone")]
    replica_set: String,
    /// Serve as a server of its own instead of a replica set
    #[arg(long)]
    standalone: bool,
    /// The most connections at a time
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    connections: usize,
    /// The most requests that are executed at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    threads: usize,
    /// Accept commands that only tests need, such as configureFailPoint
    #[arg(long)]
    enable_test_commands: bool,
}

impl Args {
    /// Serves until a signal.
    pub(crate) fn run(&self) -> Outcome {
        if session::is_open() {
            return Err(Failure::Usage("a shell has the database open: serve it from the command line".to_owned()));
        }
        self.database.refuse_read_only("build a database of it with export and load, and serve that")?;
        let config = self.config()?;
        let stop = Stop::on_signals()?;
        self.database.with_created(|database| {
            let server = Server::bind(database, config).map_err(|error| Failure::Other(error.to_string()))?;
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
                }
            });
            Ok(())
        })
    }

    fn config(&self) -> Outcome<Config> {
        let (mut listen, mut admin_listen) = (Vec::new(), Vec::new());
        for address in &self.listen {
            listen.extend(resolved("--listen", address)?);
        }
        for address in &self.admin_listen {
            admin_listen.extend(resolved("--admin-listen", address)?);
        }
        let replica_set = (!self.standalone).then(|| self.replica_set.clone());
        Ok(Config {
            listen,
            admin_listen,
            sockets: self.socket.clone(),
            replica_set,
            connections_max: self.connections,
            threads: self.threads,
            test_commands: self.enable_test_commands,
        })
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

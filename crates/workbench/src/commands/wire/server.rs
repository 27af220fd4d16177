//! The server of `alluvium-bench wire`. It is a separate process, so that its processor time can be
//! measured.

use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::output::Output;
use alluvium_cli::settings::database::DatabaseArgs;
use alluvium_server::Config;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Arguments of the process.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench wire-server trial.db < /dev/tty")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
}

impl Args {
    /// Serves the database until standard input ends, after it has printed the address.
    pub(crate) fn run(&self) -> Outcome {
        let listen = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
        self.database.with_created(|database| {
            let server = alluvium_server::Server::bind(database, Config { listen, ..Config::default() })
                .map_err(|error| Failure::Other(error.to_string()))?;
            let mut out = Output::new();
            for address in server.addresses() {
                out.text(&format!("{address}\n"))?;
            }
            out.finish()?;
            server.run(|| {
                // A read error also ends the server.
                let _ended = io::stdin().read_to_end(&mut Vec::new());
            });
            Ok(())
        })
    }
}

/// A server in another process, which ends when this value is dropped.
pub(super) struct Server {
    process: Child,
    /// The address on which it listens.
    pub address: String,
}

impl Server {
    /// Starts the process, and waits until it listens.
    pub fn start(database: &Path) -> Outcome<Self> {
        let failed = |error: io::Error| Failure::Other(format!("cannot start a server: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["--end-with-parent", "wire-server"]).arg(database);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let mut address = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut address).map_err(failed)?;
        }
        let server = Self { process, address: address.trim_end().to_owned() };
        match server.address.is_empty() {
            // The server has printed the reason already.
            true => Err(Failure::Other("the server has ended".to_owned())),
            false => Ok(server),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // Waits for the server to exit, so that the database is closed when this program ends.
        let _status = self.process.wait();
    }
}

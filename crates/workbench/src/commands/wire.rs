//! `alluvium-bench wire`.

pub(super) mod server;

use super::scenario::print;
use crate::scenarios::wire::{self, Operation, Settings};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::signals::Stop;
use server::Server;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `wire`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  alluvium-bench wire trial.db --connections 8
  alluvium-bench wire --address 127.0.0.1:27017 --operation find-one

Serves the database in a process of its own, with the settings of `alluvium serve`, or connects to a server that runs. \
There it drops the logical database `wire`, and fills it with documents of 1.1 KB. Each connection sends a request as \
soon as it has the reply to the one before. The processor time is that of the server, in the program (user) and in the \
kernel (system); the server of an address is asked for its process, which has to be on this machine.")]
pub(crate) struct Args {
    /// The database, a directory
    #[arg(value_name = "DB", required_unless_present = "address", conflicts_with = "address")]
    database: Option<PathBuf>,
    /// Connect to this server, which listens without TLS and lets this machine in
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// What to measure; may be repeated. By default all
    #[arg(long, value_enum, value_name = "OPERATION")]
    operation: Vec<What>,
    /// The number of connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: u16,
    /// The number of documents, which are shared out among the connections
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    documents: u64,
    /// How long each operation is measured; insert-many ends with the last document
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    seconds: f64,
    /// Another seed chooses other documents
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum What {
    /// Insert 1,000 documents in a request
    InsertMany,
    /// Do nothing
    Ping,
    /// Find a document by its _id
    FindOne,
    /// Insert one document
    InsertOne,
    /// Add 1 to a field of a document
    UpdateOne,
}

impl What {
    fn operation(self) -> Operation {
        match self {
            Self::InsertMany => Operation::InsertMany,
            Self::Ping => Operation::Ping,
            Self::FindOne => Operation::FindOne,
            Self::InsertOne => Operation::InsertOne,
            Self::UpdateOne => Operation::UpdateOne,
        }
    }
}

impl Args {
    /// Sends the requests, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let duration = Duration::try_from_secs_f64(self.seconds)
            .map_err(|_| Failure::Usage("--seconds is a number above zero".to_owned()))?;
        let server = self.database.as_deref().map(Server::start).transpose()?;
        let address = server.as_ref().map(|server| server.address.clone()).or_else(|| self.address.clone());
        let operations = match self.operation.as_slice() {
            [] => Operation::ALL.to_vec(),
            some => some.iter().map(|what| what.operation()).collect(),
        };
        let settings = Settings {
            address: address.unwrap_or_default(),
            operations,
            connections: usize::from(self.connections),
            documents: self.documents,
            duration,
            seed: self.seed,
        };
        let failed = |error| Failure::Other(format!("{}: {error}", settings.address));
        let measured = wire::wire(&settings).map_err(failed)?;
        print(&measured, self.json, |all| wire::table(all))
    }
}

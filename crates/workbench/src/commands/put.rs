//! `alluvium-bench put`.

use super::scenario::{describe, print};
use crate::scenarios::put::{self, Settings};
use alluvium_cli::exit::Outcome;
use alluvium_cli::settings::database::CollectionArgs;
use alluvium_cli::signals::Stop;

/// Arguments of `put`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium-bench put trial.db comments --docs 100000 --how put

The texts are made before the time begins, and take 1.3 KB of memory each; the time ends when all compactions are done. \
The comments have the same _ids each time, whatever the seed: to insert them again, name another collection or database.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The number of documents
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    docs: u64,
    /// How they are written
    #[arg(long, value_enum, default_value_t = How::Put)]
    how: How,
    /// Parse each text into a map, and write that
    #[arg(long)]
    parse: bool,
    /// Another seed gives other documents
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON, with a sample for each second
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum How {
    /// Put, each in a commit of its own
    Put,
    /// Insert, each in a commit of its own
    InsertOne,
    /// Insert 1,000 in a commit
    InsertMany,
}

impl Args {
    /// Writes, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let how = match self.how {
            How::Put => put::How::Put,
            How::InsertOne => put::How::InsertOne,
            How::InsertMany => put::How::InsertMany,
        };
        let settings = Settings { documents: self.docs, how, parse: self.parse, seed: self.seed };
        self.collection.database.with_created(|database| {
            let collection = database.collection(&self.collection.name);
            print(&put::put(database, &collection, &settings)?, self.json, describe)
        })
    }
}

//! `alluvium-bench find`.

use super::scenario::print;
use crate::scenarios::find::{self, Settings};
use alluvium_cli::exit::Outcome;
use alluvium_cli::settings::database::CollectionArgs;
use alluvium_cli::signals::Stop;

/// Arguments of `find`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench load trial.db comments --docs 1000000
         alluvium-bench find trial.db comments --rewrite 20")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Runs of each kind of query
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rounds: u64,
    /// The share of documents, in percent, that are rewritten without reading before the queries run again; 0 is none
    #[arg(long, value_name = "PERCENT", default_value_t = 20, value_parser = clap::value_parser!(u8).range(0..=100))]
    rewrite: u8,
    /// Another seed chooses other values
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs the queries, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let settings = Settings { rounds: self.rounds as usize, seed: self.seed, rewrite_percent: self.rewrite };
        self.collection.database.with(|database| {
            let asked = find::run(database, &database.collection(&self.collection.name), &settings)?;
            print(&asked, self.json, |asked| find::table(asked))
        })
    }
}

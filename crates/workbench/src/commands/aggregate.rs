//! `alluvium-bench aggregate`.

use super::scenario::print;
use crate::scenarios::aggregate::{self, Settings};
use alluvium_cli::exit::Outcome;
use alluvium_cli::settings::database::CollectionArgs;
use alluvium_cli::signals::Stop;

/// Arguments of `aggregate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench load trial.db comments --docs 1000000
         alluvium-bench aggregate trial.db comments --memory 2G

The collection is named `comments`, since one of the pipelines looks documents up in it.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Runs of each pipeline, after a first one that is not counted; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Only these pipelines, by their names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs the pipelines, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let settings = Settings { rounds: self.rounds as usize, only: self.only.clone() };
        self.collection.database.with(|database| {
            let piped = aggregate::run(&database.collection(&self.collection.name), &settings)?;
            print(&piped, self.json, |piped| aggregate::table(piped))
        })
    }
}

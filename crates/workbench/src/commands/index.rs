//! `alluvium-bench index`.

use super::scenario::{RunArgs, print};
use crate::scenarios::documents::{self, Settings};
use crate::scenarios::index;
use alluvium_cli::exit::Outcome;
use alluvium_cli::settings::database::CollectionArgs;
use alluvium_cli::signals::Stop;

/// Arguments of `index`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench load trial.db comments --docs 1000000
         alluvium-bench index trial.db comments '{\"author\": 1}' --seconds 5")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The fields of the index, as for `index create`; not the score, which the updates change
    #[arg(value_name = "KEYS")]
    keys: String,
    #[command(flatten)]
    run: RunArgs,
}

impl Args {
    /// Updates and builds, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let settings = Settings {
            threads: self.run.threads,
            duration: self.run.duration()?,
            seed: self.run.seed,
            ..Settings::default()
        };
        self.collection.database.with(|database| {
            let collection = database.collection(&self.collection.name);
            let ids = documents::sample_ids(&collection, settings.seed)?;
            let built = index::run_build(database, &collection, &ids, &self.keys, &settings)?;
            print(&built, self.run.json, index::table)
        })
    }
}

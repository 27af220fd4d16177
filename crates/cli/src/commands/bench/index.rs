//! `alluvium bench index`.

use super::RunArgs;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::signals::Stop;
use alluvium_bench::scenarios::documents::{self, Settings};
use alluvium_bench::scenarios::index;

/// Arguments of `bench index`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium bench load trial.db comments --docs 1000000
         alluvium bench index trial.db comments '{\"author\": 1}' --seconds 5")]
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
            let mut out = Output::new();
            if self.run.json {
                out.json(&serde_json::to_value(&built).map_err(|error| Failure::Other(error.to_string()))?)?;
            } else {
                out.text(&index::table(&built))?;
            }
            out.finish()
        })
    }
}

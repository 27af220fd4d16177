//! `alluvium bench load`.

use crate::commands::load::{Loading, Settings, Source};
use crate::exit::Outcome;
use crate::settings::database::CollectionArgs;
use alluvium::load::{OnBad, OnDuplicate};

/// Arguments of `bench load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium bench load trial.db comments --docs 1000000 --memory 512M --settle")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// How many documents
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    docs: u64,
    /// Another seed gives other documents
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    loading: Loading,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Loads, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        let settings = Settings {
            sources: vec![Source::generated(self.docs, self.seed)],
            id_field: "id".to_owned(),
            on_duplicate: OnDuplicate::Replace,
            on_bad: OnBad::Error,
            rejects: None,
            again: false,
            json: self.json,
            ..self.loading.resolve(&self.collection)?
        };
        settings.run(&self.collection.database)
    }
}

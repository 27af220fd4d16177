//! `alluvium-bench load`.

use crate::scenarios::documents;
use alluvium::load::OnDuplicate;
use alluvium_cli::exit::Outcome;
use alluvium_cli::load::{Loading, Source, SourceSettings};
use alluvium_cli::settings::database::CollectionArgs;
use alluvium_env::Env;
use std::path::PathBuf;

/// Arguments of `load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench load trial.db comments --docs 1000000 --memory 512M --settle")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The number of documents
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    docs: u64,
    /// Another seed gives other documents
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Load a file that `gen comments` has written, instead of generating the comments; an _id that is taken is an error
    #[arg(long, value_name = "FILE", conflicts_with_all = ["docs", "seed"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    loading: Loading,
    /// Print the figures as JSON, with a sample for each second
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Loads, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        let (docs, seed) = (self.docs, self.seed);
        let (source, on_duplicate) = match &self.file {
            Some(path) => (Source::json_lines(&Env::os(), path)?, OnDuplicate::Error),
            None => {
                let generate = move || documents::comments(docs, seed);
                (Source::generated("generated comments", generate), OnDuplicate::Replace)
            }
        };
        let settings = SourceSettings { id_field: "id".to_owned(), on_duplicate, json: self.json, samples: self.json };
        self.loading.run(&self.collection, source, settings)
    }
}

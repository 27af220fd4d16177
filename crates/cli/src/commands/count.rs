//! `alluvium count`: how many documents.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::signals::Stop;

/// Arguments of `count`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium count my.db comments")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Print the figure as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Counts by walking all keys.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::at_once()?;
        self.collection.read(|collection| {
            let documents = collection.count(&stop)?;
            let mut out = Output::new();
            if self.json {
                out.json(&serde_json::json!({ "documents": documents }))?;
            } else {
                out.text(&format!("{documents}\n"))?;
            }
            out.finish()
        })
    }
}

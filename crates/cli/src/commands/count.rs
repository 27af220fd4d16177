//! `alluvium count`: the number of documents.

use crate::exit::Outcome;
use crate::notes::Fields;
use crate::output::{self, Output};
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::queries::{self, QueryArgs, map_of};
use crate::signals::Stop;

/// Arguments of `count`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium count my.db comments
  alluvium count my.db comments '{\"author\": \"ann\"}'")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// Only documents that match this filter, in JSON
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print the count, or the output of --explain, as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Counts all keys, or the matching documents.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::at_once()?;
        if self.filter.is_some() || self.query.is_given() {
            return self.by_filter(&stop);
        }
        self.collection.read(|collection| self.print(collection.count(&stop)?))
    }

    fn by_filter(&self, stop: &Stop) -> Outcome {
        queries::refuse_read_only(&self.collection)?;
        self.collection.with_noted(|collection| {
            let find = self.query.find(collection, self.filter.as_deref(), stop)?;
            match self.query.explain {
                true => output::print_explanation(&find.explain_count()?, self.json),
                false => {
                    let documents = find.count()?;
                    self.print(documents)?;
                    if let (0, Some(filter)) = (documents, &self.filter) {
                        Fields::print_of_filter(collection, &map_of("the filter", filter)?);
                    }
                    Ok(())
                }
            }
        })
    }

    fn print(&self, documents: u64) -> Outcome {
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({ "documents": documents }))?;
        } else {
            out.text(&format!("{documents}\n"))?;
        }
        out.finish()
    }
}

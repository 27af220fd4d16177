//! `alluvium distinct`: the distinct values of a field.

use crate::exit::{Failure, Outcome};
use crate::notes::Fields;
use crate::output::{self, Output};
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::queries::{self, QueryArgs, map_of};
use crate::signals::Stop;
use alluvium_document::json::{self, Format};

/// Arguments of `distinct`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium distinct my.db comments subreddit
  alluvium distinct my.db comments author '{\"score\": {\"$gt\": 1000}}' --json

Values are printed in sort order, one per line; an array counts by its elements. All values are held in memory.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// The field, or its path: a.b is the field b of the map a
    #[arg(value_name = "FIELD")]
    field: String,
    /// Only values of documents that match this filter, in JSON; by default all documents
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print the values as a JSON array, or the output of --explain as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the values, or the explanation.
    pub(crate) fn run(&self) -> Outcome {
        queries::refuse_read_only(&self.collection)?;
        let stop = Stop::at_once()?;
        self.collection.with_noted(|collection| {
            let find = self.query.find(collection, self.filter.as_deref(), &stop)?;
            if self.query.explain {
                return output::print_explanation(&find.explain_distinct(&self.field)?, self.json);
            }
            let values = find.distinct(&self.field)?;
            let text =
                |value| json::to_string(value, Format::RELAXED).map_err(|error| Failure::Other(error.to_string()));
            let mut out = Output::new();
            if self.json {
                let values = values.iter().map(text).collect::<Outcome<Vec<String>>>()?;
                out.text(&format!("[{}]\n", values.join(",")))?;
            } else {
                for value in &values {
                    out.text(&format!("{}\n", text(value)?))?;
                }
            }
            out.finish()?;
            if values.is_empty() {
                Fields::of(collection).print_of_paths([self.field.as_str()]);
                if let Some(filter) = &self.filter {
                    Fields::print_of_filter(collection, &map_of("the filter", filter)?);
                }
            }
            Ok(())
        })
    }
}

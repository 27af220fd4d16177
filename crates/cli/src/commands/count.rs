//! `alluvium count`: the number of documents, or the number of documents with each value of a field.

pub(super) mod values;

use crate::exit::{Failure, Outcome};
use crate::notes::Fields;
use crate::output::format::FormatArg;
use crate::output::{self, Output};
use crate::settings::access::Reading;
use crate::settings::database::{CollectionArgs, Readable};
use crate::settings::ids;
use crate::settings::pipelines;
use crate::settings::queries::{QueryArgs, map_of, whole};
use crate::signals::Stop;
use std::time::Duration;
use values::Counts;

/// Arguments of `count`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium count my.db comments
  alluvium count my.db comments '{\"author\": \"ann\"}'
  alluvium count my.db comments --by subreddit --limit 10
  alluvium count my.db comments --by author --collation '{\"locale\": \"en\", \"strength\": 2}'
  alluvium count my.db comments '{\"score\": {\"$gt\": 100}}' --by subreddit,author --format csv

With --by, a document without the field counts as one with null, as in MongoDB, and an array is one value: `distinct --counts` counts its elements.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// Only documents that match this filter, in JSON
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Count the documents with each value of this field, or with each combination of several fields, separated by commas; the most frequent come first. a.b is the field b of the map a
    #[arg(long, value_name = "a,b.c", value_delimiter = ',', conflicts_with = "hint")]
    by: Option<Vec<String>>,
    /// With --by: print only the N most frequent values; 0 means all, the default
    #[arg(long, value_name = "N", requires = "by", allow_negative_numbers = true, value_parser = whole)]
    limit: Option<u64>,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    format: FormatArg,
    /// Print the count, or the output of --explain, as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Args {
    /// Counts all keys, or the matching documents, or the documents with each value.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(fields) = &self.by {
            return self.by_values(&ids::paths_of("--by", fields)?);
        }
        if self.format.format.is_some() {
            return Err(Failure::Usage("--format is for --by: a single number has no format".to_owned()));
        }
        let stop = Stop::at_once()?;
        if self.filter.is_some() || self.query.is_given() {
            return self.by_filter(&stop);
        }
        self.collection.read(|collection| self.print(collection.count(&stop)?))
    }

    fn by_filter(&self, stop: &Stop) -> Outcome {
        self.collection.read(|collection| {
            let find = self.query.find(collection, self.filter.as_deref(), stop)?;
            match self.query.explain {
                true => output::print_explanation(&find.explain_count()?, self.json),
                false => {
                    let documents = find.count()?;
                    self.print(documents)?;
                    if documents == 0 {
                        self.note_filter(collection)?;
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

    fn note_filter(&self, collection: &Readable) -> Outcome {
        if let Some(filter) = &self.filter {
            Fields::print_of_filter(collection, &map_of("the filter", filter)?);
        }
        Ok(())
    }

    fn by_values(&self, paths: &[&str]) -> Outcome {
        let stop = Stop::on_signals()?;
        let counts = Counts { paths, limit: self.limit, as_json: self.json, format: self.format.format };
        self.collection.read(|collection| {
            let filter = self.filter.as_deref().map(|filter| map_of("the filter", filter)).transpose()?;
            let mut groups = pipelines::aggregate(collection, values::pipeline(filter, paths), &stop);
            if let Some(collation) = self.query.collation()? {
                groups = groups.collation(collation);
            }
            if let Some(ms) = self.query.max_time {
                groups = groups.max_time(Duration::from_millis(ms));
            }
            if self.query.explain {
                let explained = groups.explain().map_err(pipelines::refused)?;
                return output::print_plan(explained.to_string(), explained.to_map(), self.json);
            }
            let printed = counts.print(values::of_groups(groups.run().map_err(pipelines::refused)?, paths, &stop))?;
            if printed.is_empty {
                self.note_filter(collection)?;
            }
            collection.note(&printed.only_null);
            Ok(())
        })
    }
}

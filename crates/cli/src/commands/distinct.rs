//! `alluvium distinct`: the distinct values of a field.

use super::count::values::{self, Counts};
use crate::exit::{Failure, Outcome};
use crate::notes::Fields;
use crate::output::format::{FormatArg, FormatName};
use crate::output::rows;
use crate::output::{self, Output};
use crate::settings::access::Reading;
use crate::settings::database::{CollectionArgs, Readable};
use crate::settings::queries::{QueryArgs, map_of, whole};
use crate::signals::Stop;
use crate::tally::{self, Tally};
use alluvium::{Find, Map, Value};
use alluvium_document::json::{self, Format};
use alluvium_query::distinct::Distinct;

/// Arguments of `distinct`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium distinct my.db comments subreddit
  alluvium distinct my.db comments author '{\"score\": {\"$gt\": 1000}}' --json
  alluvium distinct my.db comments tags --counts --limit 10
  alluvium distinct my.db comments author --collation '{\"locale\": \"en\", \"strength\": 2}'

Values are printed in sort order, one per line; an array counts by its elements. All values are held in memory. With --counts, \
each value has the number of documents that contain it, and the most frequent come first.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// The field, or its path: a.b is the field b of the map a
    #[arg(value_name = "FIELD")]
    field: String,
    /// Only values of documents that match this filter, in JSON; by default all documents
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Print each value with the number of documents that contain it, the most frequent first
    #[arg(long)]
    counts: bool,
    /// Print only the first N values; 0 means all, the default
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    limit: Option<u64>,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    format: FormatArg,
    /// Print the values as a JSON array, or the output of --explain as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Args {
    /// Prints the values, or the explanation.
    pub(crate) fn run(&self) -> Outcome {
        if self.counts && self.query.collation.is_some() {
            let what = "--counts and --collation cannot be combined: `count --by` takes a --collation";
            return Err(Failure::Usage(what.to_owned()));
        }
        let stop = Stop::on_signals()?;
        self.collection.read(|collection| {
            let find = self.query.find(collection, self.filter.as_deref(), &stop)?;
            if self.query.explain {
                return output::print_explanation(&find.explain_distinct(&self.field)?, self.json);
            }
            let is_empty = if self.counts { self.print_counts(find, &stop)? } else { self.print_values(find)? };
            if is_empty { self.note(collection) } else { Ok(()) }
        })
    }

    /// Prints the values; true if there are none.
    fn print_values(&self, find: Find) -> Outcome<bool> {
        let mut values = find.distinct(&self.field)?;
        let is_empty = values.is_empty();
        if let Some(limit) = self.limit.filter(|limit| *limit > 0) {
            values.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        let text = |value| json::to_string(value, Format::RELAXED).map_err(|error| Failure::Other(error.to_string()));
        match self.format.format {
            _ if self.json => {
                let values = values.iter().map(text).collect::<Outcome<Vec<String>>>()?;
                let mut out = Output::new();
                out.text(&format!("[{}]\n", values.join(",")))?;
                out.finish()?;
            }
            Some(FormatName::Json) => {
                let mut out = Output::paged();
                let values = values.iter().map(text).collect::<Outcome<Vec<String>>>()?;
                let lines =
                    if values.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", values.join(",\n")) };
                out.content(lines.as_bytes())?;
                out.finish()?;
            }
            None | Some(FormatName::Jsonl) => {
                let mut out = Output::paged();
                for value in &values {
                    out.content((text(value)? + "\n").as_bytes())?;
                }
                out.finish()?;
            }
            Some(format) => {
                let row = |value: Value| Ok(Map::from([(self.field.as_str(), value)]));
                rows::print_figures(values.into_iter().map(row), &[self.field.as_str().into()], false, format)?;
            }
        }
        Ok(is_empty)
    }

    /// Prints the values with the number of documents of each; true if there are none.
    fn print_counts(&self, find: Find, stop: &Stop) -> Outcome<bool> {
        let none = || Distinct::new(&self.field).map_err(alluvium::Error::from);
        // An invalid path is an error even if there are no documents.
        none()?;
        let mut tally = Tally::new(tally::MOST_BYTES);
        for document in find.run()? {
            stop.check()?;
            let mut of_document = none()?;
            of_document.add(&document?).map_err(alluvium::Error::from)?;
            for value in of_document.into_values() {
                tally.add(&[value]).map_err(|error| values::too_many(&error))?;
            }
        }
        let paths = [self.field.as_str()];
        let counts = Counts { paths: &paths, limit: self.limit, as_json: self.json, format: self.format.format };
        Ok(counts.print(tally.into_counted().into_iter().map(Ok))?.is_empty)
    }

    fn note(&self, collection: &Readable) -> Outcome {
        Fields::of(collection).print_of_paths([self.field.as_str()]);
        if let Some(filter) = &self.filter {
            Fields::print_of_filter(collection, &map_of("the filter", filter)?);
        }
        Ok(())
    }
}

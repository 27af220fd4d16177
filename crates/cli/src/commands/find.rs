//! `alluvium find`: prints documents that match a filter.

use crate::exit::{Failure, Outcome};
use crate::notes::{self, Fields};
use crate::output;
use crate::output::format::{DocumentFormatArgs, Printed};
use crate::output::rows::{self, Rows};
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{self, FieldArgs};
use crate::settings::queries::{QueryArgs, map_of, whole};
use crate::signals::Stop;
use clap::value_parser;

/// Arguments of `find`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium find my.db comments '{\"author\": \"ann\", \"score\": {\"$gt\": 10}}' --sort '{\"created\": -1}' --limit 10
  alluvium find my.db comments '{\"$or\": [{\"score\": {\"$lt\": 0}}, {\"body\": {\"$regex\": \"^spam\"}}]}'
  alluvium find my.db comments '{\"author\": \"ann\"}' --projection '{\"body\": 1, \"_id\": 0}'
  alluvium find my.db comments '{\"author\": \"ann\"}' --format table
  alluvium find my.db comments '{\"author\": \"ANN\"}' --collation '{\"locale\": \"en\", \"strength\": 2}'
  alluvium find my.db comments '{\"author\": \"ann\"}' --explain

Filters, sorts and projections are those of MongoDB. JSON may be typed without quotes around names: '{author: 1}'. Without --sort, documents are printed in the order in which they are found. --explain \
shows the plan: the index that is used, and how many entries and documents were read. `alluvium index create` creates an index.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// The filter, in JSON; by default all documents are printed
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Sort by these fields, each with 1 (ascending) or -1 (descending), such as {"age": -1}
    #[arg(long, value_name = "JSON")]
    sort: Option<String>,
    /// Print only these fields, {"a": 1}, or all except these, {"a": 0}
    #[arg(long, value_name = "JSON")]
    projection: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Skip the first N documents
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole)]
    skip: u64,
    /// Print at most N documents; 0 means no limit, the default
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    limit: Option<u64>,
    /// Fetch and print N documents at a time; by default as many as fit the output buffer
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..))]
    batch_size: Option<u32>,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    format: DocumentFormatArgs,
    /// Print the output of --explain as JSON, in the layout of MongoDB, and errors as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Args {
    /// Prints the documents, or the explanation.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        let sort = self.sort.as_deref().map(|sort| map_of("--sort", sort)).transpose()?;
        let projection = self.projection.as_deref().map(|fields| map_of("--projection", fields)).transpose()?;
        let paths = self.fields.paths()?;
        if paths.is_some() && projection.is_some() {
            return Err(Failure::Usage("--fields and --projection cannot be combined: use one of them".to_owned()));
        }
        let format = self.format.resolve(Printed::List)?;
        self.collection.read(|collection| {
            let mut find = self.query.find(collection, self.filter.as_deref(), &stop)?.skip(self.skip);
            if let Some(sort) = &sort {
                find = find.sort(sort.clone());
            }
            if let Some(projection) = &projection {
                find = find.projection(projection.clone());
            }
            if let Some(limit) = self.limit {
                find = find.limit(limit);
            }
            if self.query.explain {
                return output::print_explanation(&find.explain()?, self.json);
            }
            if let Some(size) = self.batch_size {
                find = find.batch_size(size as usize);
            }
            let fields = (sort.is_some() || projection.is_some() || paths.is_some()).then(|| Fields::of(collection));
            let wanted: Vec<&str> = match (&paths, &projection) {
                (Some(paths), _) => paths.clone(),
                (_, Some(projection)) => notes::names_of(projection).collect(),
                _ => Vec::new(),
            };
            let mut unknown = fields.as_ref().map(|fields| fields.unknown(wanted)).unwrap_or_default();
            let (mut out, mut found) = (Rows::new(format, paths.as_deref().map(rows::headings_of)), 0_u64);
            for (n, document) in (1_u64..).zip(find.run()?) {
                stop.check()?;
                let document = document?;
                found = n;
                if !unknown.is_empty() {
                    unknown.retain(|path| !document.get_path(path).is_ok_and(|value| value.is_some()));
                }
                match &paths {
                    Some(paths) => out.map(&ids::fields_of(&document, paths)?)?,
                    None => out.document(&document)?,
                }
                if self.batch_size.is_some_and(|size| n % u64::from(size) == 0) {
                    out.flush()?;
                }
            }
            out.finish()?;
            if found == 0
                && let Some(filter) = &self.filter
            {
                Fields::print_of_filter(collection, &map_of("the filter", filter)?);
            }
            if let Some(fields) = fields {
                fields.print_of_paths(unknown.into_iter().chain(sort.iter().flat_map(notes::names_of)));
            }
            Ok(())
        })
    }
}

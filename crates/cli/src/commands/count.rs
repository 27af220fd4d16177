//! `alluvium count`: the number of documents, or of those with each value of a field.

use crate::exit::{Failure, Outcome};
use crate::notes::{self, Fields};
use crate::output::format::{FormatArg, FormatName};
use crate::output::rows::{self, Heading};
use crate::output::{self, Output};
use crate::settings::access::Reading;
use crate::settings::database::{CollectionArgs, Readable};
use crate::settings::ids;
use crate::settings::queries::{self, QueryArgs, map_of, whole};
use crate::signals::Stop;
use crate::tally::{self, Counted, Tally};
use crate::text;
use alluvium::{Collection, Cursor, Map, Value};
use alluvium_query::expression::{Expression, Scope};

/// Arguments of `count`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium count my.db comments
  alluvium count my.db comments '{\"author\": \"ann\"}'
  alluvium count my.db comments --by subreddit --limit 10
  alluvium count my.db comments '{\"score\": {\"$gt\": 100}}' --by subreddit,author --format csv

With --by, a document without the field counts as one with null, as in MongoDB, and an array is one value: `distinct --counts` counts its elements.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// Only documents that match this filter, in JSON
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Count the documents with each value of this field, or with each combination of several fields, separated by commas; the most frequent come first. a.b is the field b of the map a
    #[arg(long, value_name = "a,b.c", value_delimiter = ',')]
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
    /// Counts all keys, the matching documents, or those with each value.
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
        queries::refuse_read_only(&self.collection)?;
        self.collection.with_noted(|collection| {
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

    fn note_filter(&self, collection: &Collection) -> Outcome {
        if let Some(filter) = &self.filter {
            Fields::print_of_filter(collection, &map_of("the filter", filter)?);
        }
        Ok(())
    }

    fn by_values(&self, paths: &[&str]) -> Outcome {
        let stop = Stop::on_signals()?;
        if self.filter.is_some() || self.query.is_given() {
            queries::refuse_read_only(&self.collection)?;
        }
        let fields = paths.iter().map(|path| expression_of(path)).collect::<Outcome<Vec<_>>>()?;
        self.collection.read(|collection| {
            let cursor = match collection {
                Readable::ReadOnly(store) => store.scan().run()?,
                Readable::Collection(collection) => {
                    let find = self.query.find(collection, self.filter.as_deref(), &stop)?;
                    if self.query.explain {
                        return output::print_explanation(&find.explain()?, self.json);
                    }
                    find.run()?
                }
            };
            let counted = count(cursor, &fields, &stop)?;
            let unknown: Vec<&str> = unknown(&counted, paths);
            let is_empty = counted.is_empty();
            print_counted(counted, paths, self.limit, self.json, self.format.format)?;
            if let (true, Readable::Collection(collection)) = (is_empty, collection) {
                self.note_filter(collection)?;
            }
            collection.note(&unknown);
            Ok(())
        })
    }
}

/// The value at a path, as the groups of a pipeline see it: in an array of maps, the values in all
/// of them.
fn expression_of(path: &str) -> Outcome<Expression> {
    Expression::parse(&Value::from(format!("${path}")))
        .map_err(|error| Failure::Usage(format!("--by: {} is not a field: {error}", text::plain(path))))
}

fn count(cursor: Cursor, fields: &[Expression], stop: &Stop) -> Outcome<Vec<Counted>> {
    let mut tally = Tally::new(tally::MOST_BYTES);
    for document in cursor {
        stop.check()?;
        let document = document?;
        let mut scope = Scope::of(&document);
        let value = |field: &Expression| Ok(field.evaluate(&mut scope)?.unwrap_or_default());
        let values =
            fields.iter().map(value).collect::<Result<Vec<Value>, alluvium_query::expression::EvaluateError>>();
        let values = values.map_err(|error| {
            Failure::Other(format!("document {} cannot be counted: {error}", ids::show(document.id())))
        })?;
        tally.add(&values).map_err(|error| too_many(&error))?;
    }
    Ok(tally.into_counted())
}

/// The failure for values that do not fit the memory of a tally.
pub(super) fn too_many(error: &tally::TooMany) -> Failure {
    Failure::Other(format!(
        "there are more than {}, which take more than the {} that counting may use: count by a field with fewer values, or \
         only the documents that match a filter",
        text::counted(error.values, "different value"),
        text::bytes(tally::MOST_BYTES as u64),
    ))
}

/// The paths for which there is no value but null.
fn unknown<'p>(counted: &[Counted], paths: &[&'p str]) -> Vec<&'p str> {
    let is_null = |at: usize| counted.iter().all(|row| row.values.get(at) == Some(&Value::Null));
    paths.iter().enumerate().filter(|(at, _)| is_null(*at)).map(|(_, path)| *path).collect()
}

/// Prints values and their counts.
pub(super) fn print_counted(
    mut counted: Vec<Counted>,
    paths: &[&str],
    limit: Option<u64>,
    as_json: bool,
    format: Option<FormatName>,
) -> Outcome {
    let limit =
        limit.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let rest = counted.split_off(counted.len().min(limit));
    // A field may have the name, too.
    let count = if paths.contains(&"count") { "documents" } else { "count" };
    let row = |Counted { values, count: documents }: Counted| {
        let mut row = Map::new();
        paths.iter().zip(values).for_each(|(path, value)| row.push(*path, value));
        row.push(count, i64::try_from(documents).unwrap_or(i64::MAX));
        row
    };
    let columns: Vec<Heading> = paths.iter().copied().chain([count]).map(Heading::from).collect();
    let rows = counted.into_iter().map(row).collect();
    rows::print_figures(rows, &columns, as_json, format.unwrap_or(FormatName::Table))?;
    if !rest.is_empty() {
        let (values, documents) = (rest.len() as u64, rest.iter().map(|row| row.count).sum());
        let (values, documents) = (text::counted(values, "more value"), text::counted(documents, "document"));
        notes::say(&format!("{values}, with {documents}"));
    }
    Ok(())
}

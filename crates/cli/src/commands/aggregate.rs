//! `alluvium aggregate`: runs a pipeline over a collection.

use crate::exit::Outcome;
use crate::notes::{self, Fields};
use crate::output;
use crate::output::format::{DocumentFormat, DocumentFormatArgs, Printed};
use crate::output::rows::Rows;
use crate::session;
use crate::settings::access::Reading;
use crate::settings::database::{CollectionArgs, Readable};
use crate::settings::pipelines::{self, PipelineArgs};
use crate::signals::Stop;
use alluvium::{Cursor, Map};

/// Arguments of `aggregate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium aggregate my.db comments '[{\"$group\": {\"_id\": \"$subreddit\", \"average\": {\"$avg\": \"$score\"}}}, {\"$sort\": {\"average\": -1}}]'
  alluvium aggregate my.db comments '[{$match: {score: {$gt: 100}}}, {$sortByCount: \"$author\"}, {$limit: 10}]' --format table
  alluvium aggregate my.db comments '{$unwind: \"$tags\"}' --format csv
  alluvium aggregate my.db comments '{$sortByCount: \"$author\"}' --collation '{locale: \"en\", strength: 2}'
  alluvium aggregate my.db comments -f report.json --explain

A pipeline is a JSON array of stages, as in MongoDB. JSON may be typed without quotes around names. With $out or $merge as the last \
stage, the results are written to a collection, and nothing is printed. `count --by` and `distinct --counts` answer the most common \
questions without a pipeline.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// Run the pipeline, and print how it was executed instead of its result
    #[arg(long)]
    explain: bool,
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
        let stages = self.pipeline.stages()?;
        let format = self.format.resolve(Printed::List)?;
        if let Some(store) = self.collection.database.read_only(None)? {
            store.require(&self.collection.name)?;
            return self.over(&Readable::ReadOnly(store), stages, format, &stop);
        }
        let (writes, has_documents) = (pipelines::writes(&stages), pipelines::has_documents(&stages));
        self.collection.database.with(|database| {
            let collection = session::collection(database, &self.collection.name);
            if !has_documents {
                notes::print_if_missing(&collection);
            }
            let printed = self.over(&Readable::Collection(collection), stages, format, &stop);
            if writes && !self.explain {
                // Like every command that writes, this one syncs even after a failure: earlier writes remain. The first
                // failure is reported.
                let durable = database.sync();
                printed?;
                return Ok(durable?);
            }
            printed
        })
    }

    /// Runs the stages.
    fn over(&self, collection: &Readable, stages: Vec<Map>, format: DocumentFormat, stop: &Stop) -> Outcome {
        let (writes, matched) = (pipelines::writes(&stages), pipelines::matched(&stages));
        let aggregate = self.pipeline.aggregate(collection, stages, stop)?;
        if self.explain {
            let explained = aggregate.explain().map_err(pipelines::refused)?;
            return output::print_plan(explained.to_string(), explained.to_map(), self.json);
        }
        let cursor = aggregate.run().map_err(pipelines::refused)?;
        let printed = print(cursor, Rows::new(format, None), stop)?;
        if printed == 0 && !writes {
            matched.iter().for_each(|filter| Fields::print_of_filter(collection, filter));
        }
        Ok(())
    }
}

/// Prints the documents; returns their number.
fn print(cursor: Cursor, mut out: Rows, stop: &Stop) -> Outcome<u64> {
    let mut printed = 0;
    for document in cursor {
        stop.check()?;
        out.document(&document?)?;
        printed += 1;
    }
    out.finish()?;
    Ok(printed)
}

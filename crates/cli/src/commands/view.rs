//! `alluvium view`: named pipelines.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::{CollectionArgs, DatabaseArgs};
use crate::settings::pipelines::{self, PipelineArgs};
use crate::text;
use alluvium::{Map, Value};
use alluvium_document::json::Format;

/// Subcommands of `view`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create a view: a name for a pipeline over a collection
    Create(CreateArgs),
    /// List the views, with what they are over and their pipelines
    List(ListArgs),
}

/// Arguments of `view create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium view create my.db popular --on comments '[{$match: {score: {$gt: 100}}}]'
  alluvium view create my.db authors --on comments '{$group: {_id: \"$author\", n: {$sum: 1}}}'
  alluvium find my.db authors '{n: {$gt: 10}}'

A view is read by find, count, distinct and aggregate, with the indexes of its collection; nothing is stored. `drop` removes it. When \
the command succeeds, the change is on the disk.")]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    view: CollectionArgs,
    /// The collection or view that it is over, in the same logical database
    #[arg(long, value_name = "COLLECTION")]
    on: String,
    #[command(flatten)]
    pipeline: PipelineArgs,
}

/// Arguments of `view list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  alluvium view list my.db

Prints a JSON object for each view: its name, viewOn and pipeline.")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Create(args) => args.run(),
            Self::List(args) => args.run(),
        }
    }
}

impl CreateArgs {
    fn run(&self) -> Outcome {
        let stages = Value::Array(self.pipeline.stages()?.into_iter().map(Value::Map).collect());
        self.view.database.with(|database| {
            database.create_view(&self.view.name, &self.on, stages).run().map_err(pipelines::refused)?;
            Ok(database.sync()?)
        })
    }
}

impl ListArgs {
    fn run(&self) -> Outcome {
        self.database.with(|database| {
            let mut out = Output::new();
            for (name, view) in database.views() {
                let mut map = Map::from([("name", Value::from(text::plain(&name)))]);
                for (field, value) in view.to_map().iter() {
                    map.push(field.clone(), value.clone());
                }
                out.map(&map, Format::RELAXED)?;
            }
            out.finish()
        })
    }
}

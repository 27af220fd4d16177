//! `alluvium distinct`: the distinct values of a field.

use crate::exit::{Failure, Outcome};
use crate::notes::Fields;
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::questions::{self, QuestionArgs, map_of};
use crate::signals::Stop;
use alluvium_document::json::{self, Format};

/// Arguments of `distinct`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium distinct my.db comments subreddit
  alluvium distinct my.db comments author '{\"score\": {\"$gt\": 1000}}' --json

Values come in the order of all values, one a line; of arrays, their elements. All of them are held in memory.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The path of the field
    #[arg(value_name = "FIELD")]
    field: String,
    /// Of which documents, as JSON; the default is all
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    question: QuestionArgs,
    /// Print an array, or what --explain tells, as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the values, or how they are found.
    pub(crate) fn run(&self) -> Outcome {
        questions::refuse_read_only(&self.collection)?;
        let stop = Stop::at_once()?;
        self.collection.with(|collection| {
            let find = self.question.find(collection, self.filter.as_deref(), &stop)?;
            if self.question.explain {
                return questions::print(&find.explain_distinct(&self.field)?, self.json);
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

//! `alluvium validator`: the conditions for the documents of a collection.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::queries::map_of;
use alluvium::{ValidationAction, ValidationLevel};
use alluvium_document::json::Format;

/// Subcommands of `validator`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Set the validator of a collection: documents that do not match it are refused
    Set(SetArgs),
    /// Show the validator of a collection
    Show(ShowArgs),
    /// Remove the validator of a collection
    Drop(DropArgs),
}

/// Arguments of `validator set`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium validator set my.db comments '{score: {$type: \"int\"}}'
  alluvium validator set my.db users '{$jsonSchema: {required: [\"name\"], properties: {age: {bsonType: \"int\", minimum: 0}}}}'
  alluvium validator set my.db users '{email: {$exists: true}}' --level moderate --action warn

The collection is created if it does not exist. Documents that it has already are not checked: `count` with a filter such as \
{$nor: [RULES]} finds those that do not match. When the command succeeds, the change is on the disk.")]
pub(crate) struct SetArgs {
    #[command(flatten)]
    collection: CollectionArgs,
    /// A filter that documents must match; $jsonSchema describes their fields and types
    #[arg(value_name = "RULES")]
    rules: String,
    /// Which writes are checked: all; all but changes of documents that do not match already; or none
    #[arg(long, value_enum, default_value = "strict")]
    level: Level,
    /// What happens to a document that does not match: it is refused, or written with a warning in the log
    #[arg(long, value_enum, default_value = "error")]
    action: Action,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Level {
    Strict,
    Moderate,
    Off,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Action {
    Error,
    Warn,
}

/// Arguments of `validator show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  alluvium validator show my.db users

Prints validator, validationLevel and validationAction as JSON, or {} if the collection has no validator.")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
}

/// Arguments of `validator drop`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  alluvium validator drop my.db users

When the command succeeds, the change is on the disk.")]
pub(crate) struct DropArgs {
    #[command(flatten)]
    collection: CollectionArgs,
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Set(args) => args.run(),
            Self::Show(args) => args.run(),
            Self::Drop(args) => args.collection.change(|collection| Ok(collection.drop_validator()?)),
        }
    }
}

impl SetArgs {
    fn run(&self) -> Outcome {
        let rules = map_of("RULES", &self.rules)?;
        let level = match self.level {
            Level::Strict => ValidationLevel::Strict,
            Level::Moderate => ValidationLevel::Moderate,
            Level::Off => ValidationLevel::Off,
        };
        let action = match self.action {
            Action::Error => ValidationAction::Error,
            Action::Warn => ValidationAction::Warn,
        };
        self.collection.change(|collection| Ok(collection.set_validator(rules).level(level).action(action).run()?))
    }
}

impl ShowArgs {
    fn run(&self) -> Outcome {
        self.collection.with(|collection| {
            let options = collection.validator()?.map(|validator| validator.to_options()).unwrap_or_default();
            let mut out = Output::new();
            out.map(&options, Format::RELAXED)?;
            out.finish()
        })
    }
}

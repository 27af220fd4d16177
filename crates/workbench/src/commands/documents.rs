//! `alluvium-bench get` and `alluvium-bench update`.

use super::scenario::{RunArgs, describe, print};
use crate::scenarios::documents::{self, Form, Settings};
use crate::trials::drop_from_cache;
use alluvium_cli::exit::Outcome;
use alluvium_cli::settings::database::CollectionArgs;
use alluvium_cli::signals::Stop;

/// Arguments of `get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium-bench get trial.db comments --threads 4 --seconds 10 --memory 512M

The _ids are chosen before the time begins to count. Of a collection of up to about a million documents, every _id is read. Of a \
larger one, 1,048,576 are drawn: it is divided by estimates into up to 4,096 ranges of about the same number of documents, \
and from each range _ids are drawn at uniform places between its ends. With a memory budget that holds most of the blocks of the \
drawn documents, gets are answered from memory more often than gets of all documents would be.")]
pub(crate) struct GetArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Drop the files from the system's cache once the _ids are chosen; give a --memory that holds few blocks
    #[arg(long)]
    cold: bool,
    /// The type that a document is read into
    #[arg(long = "as", value_enum, default_value_t = As::Document)]
    form: As,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum As {
    /// A row whose fields are read when they are asked for
    Document,
    /// A map of all fields
    Map,
    /// A serde type with five of the fields
    Typed,
}

/// Arguments of `update`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium-bench update trial.db comments --threads 4 --seconds 10

The _ids are chosen as by `alluvium-bench get`.")]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// How the score is increased
    #[arg(long, value_enum, default_value_t = How::GetPut)]
    how: How,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum How {
    /// Get, score + 1, put, as one step
    GetPut,
    /// `{"$inc": {"score": 1}}`, read and checked
    Checked,
    /// The same as a delta, without reading
    Blind,
    /// As checked, ten in each transaction; an operation is a transaction
    Transaction,
}

#[derive(Debug, clap::Args)]
struct ScenarioArgs {
    #[command(flatten)]
    collection: CollectionArgs,
    #[command(flatten)]
    run: RunArgs,
    /// End after this number of operations, if that is earlier; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    operations: u64,
}

impl GetArgs {
    /// Gets, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        let form = match self.form {
            As::Document => Form::Document,
            As::Map => Form::Map,
            As::Typed => Form::Typed,
        };
        self.scenario.run(documents::get, form, self.cold)
    }
}

impl UpdateArgs {
    /// Updates, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        let scenario = match self.how {
            How::GetPut => documents::update,
            How::Checked => documents::update_checked,
            How::Blind => documents::update_blind,
            How::Transaction => documents::update_in_transactions,
        };
        self.scenario.run(scenario, Form::Document, false)
    }
}

type Scenario = fn(
    &alluvium::Database,
    &alluvium::Collection,
    &[alluvium::Value],
    &Settings,
) -> alluvium::Result<crate::scenarios::Outcome>;

impl ScenarioArgs {
    fn run(&self, scenario: Scenario, form: Form, cold: bool) -> Outcome {
        Stop::at_once()?;
        let settings = Settings {
            threads: self.run.threads,
            duration: self.run.duration()?,
            operations: self.operations,
            find_rate: self.run.find_rate(1.0)?,
            form,
            seed: self.run.seed,
        };
        self.collection.database.with(|database| {
            let collection = database.collection(&self.collection.name);
            let ids = documents::sample_ids(&collection, settings.seed)?;
            if cold {
                drop_from_cache(&alluvium_env::Env::os(), self.collection.database.path())?;
            }
            print(&scenario(database, &collection, &ids, &settings)?, self.run.json, describe)
        })
    }
}

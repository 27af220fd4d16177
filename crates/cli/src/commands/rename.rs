//! `alluvium rename`: renames a collection.

use crate::exit::Outcome;
use crate::settings::database::CollectionArgs;

/// Arguments of `rename`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium rename my.db comments archive.comments

When the command succeeds, the change is on the disk, in the shell as on the command line.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The new name; no collection may have it
    #[arg(value_name = "NEW")]
    to: String,
}

impl Args {
    /// Renames the collection.
    pub(crate) fn run(&self) -> Outcome {
        self.collection.database.with(|database| {
            database.rename_collection(&self.collection.name, &self.to)?;
            Ok(database.sync()?)
        })
    }
}

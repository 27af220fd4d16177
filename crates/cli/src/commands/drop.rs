//! `alluvium drop`: drops a collection and all its documents.

use crate::exit::{Failure, Outcome};
use crate::settings::database::CollectionArgs;
use crate::text;

/// Arguments of `drop`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium drop my.db comments --yes

When the command succeeds, the change is on the disk, in the shell as on the command line.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Confirm that it is to be dropped
    #[arg(long)]
    yes: bool,
}

impl Args {
    /// Drops the collection. Compactions reclaim its space.
    pub(crate) fn run(&self) -> Outcome {
        if !self.yes {
            let name = text::plain(&self.collection.name);
            let text = format!("this removes the collection {name} and all its documents: say so with --yes");
            return Err(Failure::Usage(text));
        }
        self.collection.change(|collection| Ok(collection.drop()?))
    }
}

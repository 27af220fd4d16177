//! `alluvium index`: manages the indexes of a collection.

mod create;
mod drop;
mod list;

pub(crate) use list::{definition_of, describe_build, not_built, to_json};

use crate::exit::{Failure, Outcome};
use crate::settings::access::Access;
use crate::settings::database::DatabaseArgs;
use crate::text;

/// Subcommands of `index`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create an index, and wait until it is ready; reads and writes continue
    Create(create::Args),
    /// Drop indexes
    Drop(drop::Args),
    /// List the indexes of one collection, or of all
    List(list::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Create(args) => args.run(),
            Self::Drop(args) => args.run(),
            Self::List(args) => args.run(),
        }
    }
}

/// Refuses read-only stores.
fn refuse_read_only<A: Access>(database: &DatabaseArgs<A>) -> Outcome {
    match database.read_only(None)? {
        None => Ok(()),
        Some(_) => Err(Failure::Other(format!(
            "{} is a read-only store: its only indexes are those on _id; export it, and load the export into a \
             database, which has",
            text::path(database.path())
        ))),
    }
}

//! `alluvium create`: creates a collection with options.

use crate::exit::Outcome;
use crate::settings::database::CollectionArgs;
use crate::settings::queries::map_of;
use crate::settings::size;
use alluvium::{CappedLimits, Collation};

/// Arguments of `create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium create my.db log --capped 100M
  alluvium create my.db log --capped 100M --max 1000000
  alluvium create my.db pets --collation '{\"locale\": \"en\", \"strength\": 2}'

Without options this is rarely needed: the first write creates a collection. A capped collection keeps its newest documents: each \
insert deletes the oldest ones as long as the collection exceeds a limit. `find` returns its documents in the order of insertion. When \
the command succeeds, the change is on the disk.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Keep the newest documents, up to this size of all documents as BSON
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    capped: Option<u64>,
    /// Keep at most this number of documents
    #[arg(long, value_name = "N", requires = "capped", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,
    /// Keep the order of insertion: finds without a sort return documents in it
    #[arg(long)]
    natural_order: bool,
    /// Compare strings by the rules of a language, unless a query says otherwise
    #[arg(long, value_name = "JSON")]
    collation: Option<String>,
}

impl Args {
    /// Creates the collection.
    pub(crate) fn run(&self) -> Outcome {
        let collation = self.collation.as_deref().map(|options| map_of("--collation", options)).transpose()?;
        // Invalid arguments must not create a database.
        alluvium::check_name(&self.collection.name)?;
        if let Some(collation) = &collation {
            Collation::parse(collation).map_err(alluvium::Error::from)?;
        }
        self.collection.database.with_created(|database| {
            let mut new = database.create_collection(&self.collection.name);
            if let Some(size_bytes) = self.capped {
                new = new.capped(CappedLimits { size_bytes, documents: self.max });
            }
            if self.natural_order {
                new = new.natural_order(true);
            }
            if let Some(collation) = collation {
                new = new.collation(collation);
            }
            new.run()?;
            database.sync()?;
            Ok(())
        })
    }
}

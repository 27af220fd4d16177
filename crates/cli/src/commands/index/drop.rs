//! `alluvium index drop`.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::queries::map_of;
use crate::text;
use alluvium::{Collection, Error};
use std::collections::HashSet;

/// Arguments of `index drop`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "alluvium index drop [OPTIONS] <DB> <COLLECTION> <INDEX>...
       alluvium index drop [OPTIONS] <DB> <COLLECTION> --all")]
#[command(after_help = "Examples:
  alluvium index drop my.db comments author_1
  alluvium index drop my.db comments '{\"author\": 1, \"created\": -1}'
  alluvium index drop my.db comments --all

Documents are not changed. The space of an index is freed in the background. When the command succeeds, the change is on the disk, in the shell as on the command line.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The indexes, by name or keys as `index list` prints them
    #[arg(value_name = "INDEX", required_unless_present = "all", conflicts_with = "all")]
    indexes: Vec<String>,
    /// Drop all indexes except the one on _id
    #[arg(long)]
    all: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Drops the indexes, or none if one of them does not exist.
    pub(crate) fn run(&self) -> Outcome {
        super::refuse_read_only(&self.collection.database)?;
        let dropped = self.collection.change(|collection| {
            if self.all {
                let there = (collection.indexes()?.len() as u64).saturating_sub(1);
                collection.drop_indexes()?;
                return Ok(there);
            }
            let mut names = self.indexes.iter().map(|index| name_of(collection, index)).collect::<Outcome<Vec<_>>>()?;
            let mut seen = HashSet::new();
            names.retain(|name| seen.insert(name.clone()));
            // The index on _id comes first: it cannot be dropped, and its error states the reason.
            names.sort_by_key(|name| name != "_id_");
            names.iter().try_for_each(|name| collection.drop_index(name))?;
            Ok(names.len() as u64)
        })?;
        let mut out = Output::new();
        match self.json {
            true => out.json(&serde_json::json!({ "dropped": dropped }))?,
            false if dropped == 1 => out.text("dropped 1 index\n")?,
            false => out.text(&format!("dropped {} indexes\n", text::count(dropped)))?,
        }
        out.finish()
    }
}

/// The name of the index with this name or these keys.
fn name_of(collection: &Collection, index: &str) -> Outcome<String> {
    match collection.index_name(index) {
        Err(Error::Json(_)) => Ok(collection.index_name(map_of("INDEX", index)?)?),
        name => Ok(name?),
    }
}

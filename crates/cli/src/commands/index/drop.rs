//! `alluvium index drop`.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::text;
use std::collections::HashSet;

/// Arguments of `index drop`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "alluvium index drop [OPTIONS] <DB> <COLLECTION> <INDEX>...
       alluvium index drop [OPTIONS] <DB> <COLLECTION> --all")]
#[command(after_help = "Examples:
  alluvium index drop my.db comments author_1
  alluvium index drop my.db comments --all

No document is changed. The space of an index is given back in the background.")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The names, as `index list` shows them
    #[arg(value_name = "INDEX", required_unless_present = "all", conflicts_with = "all")]
    indexes: Vec<String>,
    /// All but that on _id
    #[arg(long)]
    all: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Drops them, or none if one of them is not there.
    pub(crate) fn run(&self) -> Outcome {
        super::refuse_read_only(&self.collection.database)?;
        let dropped = self.collection.with(|collection| {
            if self.all {
                let there = collection.indexes()?.len() as u64 - 1;
                collection.drop_indexes()?;
                return Ok(there);
            }
            let there = collection.indexes()?;
            let known = |name: &&String| there.iter().any(|index| index.name == **name && index.name != "_id_");
            // Dropping it says why it cannot be dropped.
            let wrong = self.indexes.iter().find(|name| !known(name));
            let mut names: Vec<&String> = wrong.into_iter().chain(&self.indexes).collect();
            let mut seen = HashSet::new();
            names.retain(|name| seen.insert(*name));
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

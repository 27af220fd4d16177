//! `alluvium delete`: documents by `_id`.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{self, IdArgs};
use crate::text;

/// Arguments of `delete`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium delete my.db comments evn2i5p '{\"$oid\":\"5f43a1b2c3d4e5f601234567\"}'")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The _ids: extended JSON; what does not parse is a string
    #[arg(value_name = "ID", required = true, allow_negative_numbers = true)]
    ids: Vec<String>,
    #[command(flatten)]
    id: IdArgs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Deletes, and says which were not there.
    pub(crate) fn run(&self) -> Outcome {
        let (deleted, missing) = self.collection.with(|collection| {
            let (mut deleted, mut missing) = (0_u64, Vec::new());
            for text in &self.ids {
                let id = self.id.parse(text);
                let shown = ids::show(&id);
                if collection.get_and_delete(id)?.is_some() { deleted += 1 } else { missing.push(shown) }
            }
            Ok((deleted, missing))
        })?;
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({ "deleted": deleted, "not_found": missing.len() }))?;
        } else {
            out.text(&format!("deleted {}\n", text::counted(deleted, "document")))?;
        }
        out.finish()?;
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Failure::NotFound(format!("not found: {}", missing.join(", ")))),
        }
    }
}

//! `alluvium update`: changes fields of a document by `_id`.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{self, IdArgs};

/// Arguments of `update`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Operators: $set $unset $inc $mul $min $max $push $addToSet $pull $pop $rename $currentDate $setOnInsert

Example: alluvium update my.db comments evn2i5p '{\"$inc\": {\"score\": 1}}'")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// The _id: extended JSON; what does not parse is a string
    #[arg(value_name = "ID", allow_negative_numbers = true)]
    document_id: String,
    /// The update: operators, each with paths and values
    #[arg(value_name = "UPDATE")]
    update: String,
    #[command(flatten)]
    id: IdArgs,
    /// Write the update down without reading the document: faster, and does not tell whether it applied
    #[arg(long, conflicts_with = "upsert")]
    blind: bool,
    /// Insert a document if there is none with this _id
    #[arg(long)]
    upsert: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Updates, and says what has changed.
    pub(crate) fn run(&self) -> Outcome {
        let id = self.id.parse(&self.document_id);
        let shown = ids::show(&id);
        let update = self.update.as_str();
        let result = self.collection.with(|collection| {
            Ok(match (self.blind, self.upsert) {
                (true, _) => collection.apply(id, update).map(|()| None)?,
                (_, true) => Some(collection.upsert(id, update)?),
                _ => Some(collection.update(id, update)?),
            })
        })?;
        let mut out = Output::new();
        let Some(result) = result else {
            if self.json {
                out.json(&serde_json::json!({ "blind": true }))?;
            } else {
                out.text("written down, to be applied where the document is\n")?;
            }
            return out.finish();
        };
        let upserted = result.upserted_id.is_some();
        if self.json {
            out.json(&serde_json::json!({
                "matched": result.matched_count,
                "modified": result.modified_count,
                "upserted": u64::from(upserted),
            }))?;
        } else {
            let what = match (upserted, result.matched_count, result.modified_count) {
                (true, ..) => "inserted",
                (_, 0, _) => "not found",
                (_, _, 0) => "unchanged",
                _ => "updated",
            };
            out.text(&format!("{what} {shown}\n"))?;
        }
        out.finish()?;
        match result.matched_count == 0 && !upserted {
            true => Err(Failure::NotFound(format!("not found: {shown}"))),
            false => Ok(()),
        }
    }
}

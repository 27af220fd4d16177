//! `alluvium scan`: documents in the order of their `_id`.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{FieldArgs, IdArgs};
use crate::signals::Stop;
use document::json::Format;

/// Arguments of `scan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium scan my.db comments --from evn2 --to evn3 --limit 10 --fields author,score")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    /// From this _id on, itself included, in ascending order, also with --reverse
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    from: Option<String>,
    /// Up to this _id, itself excluded, in ascending order, also with --reverse
    #[arg(long, value_name = "ID", allow_negative_numbers = true)]
    to: Option<String>,
    /// From the highest _id to the lowest
    #[arg(long)]
    reverse: bool,
    /// At most so many documents
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    fields: FieldArgs,
}

impl Args {
    /// Prints the documents, one a line.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        let paths = self.fields.paths();
        self.collection.with(|collection| {
            let mut scan = collection.scan();
            if let Some(from) = &self.from {
                scan = scan.from(self.id.parse(from));
            }
            if let Some(to) = &self.to {
                scan = scan.to(self.id.parse(to));
            }
            if self.reverse {
                scan = scan.reverse();
            }
            if let Some(limit) = self.limit {
                scan = scan.limit(limit);
            }
            let mut cursor = scan.run()?;
            let mut out = Output::new();
            match paths {
                Some(paths) => {
                    while let Some(fields) = cursor.next_fields(&paths)? {
                        stop.check()?;
                        out.map(&fields, Format::RELAXED)?;
                    }
                }
                None => {
                    for document in cursor {
                        stop.check()?;
                        out.document(&document?, Format::RELAXED)?;
                    }
                }
            }
            out.finish()
        })
    }
}

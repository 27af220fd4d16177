//! `alluvium scan`: documents in the order of their `_id`.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{FieldArgs, IdArgs, RangeArgs};
use crate::signals::Stop;
use alluvium_document::json::Format;

/// Arguments of `scan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium scan my.db comments --from evn2 --to evn3 --limit 10 --fields author,score")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs,
    #[command(flatten)]
    range: RangeArgs,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    fields: FieldArgs,
}

impl Args {
    /// Prints the documents, one a line.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        let paths = self.fields.paths()?;
        self.collection.read(|collection| {
            let mut cursor = self.range.apply(collection.scan(), self.id).run()?;
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

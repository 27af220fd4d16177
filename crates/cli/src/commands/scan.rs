//! `alluvium scan`: prints documents in the order of their `_id`.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{FieldArgs, IdArgs, RangeArgs};
use crate::signals::Stop;
use alluvium_document::json::Format;

/// Arguments of `scan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium scan my.db comments --from evn2 --to evn3 --limit 10 --fields author,score")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    #[command(flatten)]
    range: RangeArgs,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    fields: FieldArgs,
    /// Print documents indented, with one field per line
    #[arg(long)]
    pretty: bool,
}

impl Args {
    /// Prints the documents, one per line.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        let paths = self.fields.paths()?;
        let format = if self.pretty { Format::PRETTY } else { Format::RELAXED };
        self.collection.read(|collection| {
            let mut cursor = self.range.apply(collection.scan(), self.id).run()?;
            let mut out = Output::new();
            match paths {
                Some(paths) => {
                    let mut unknown = collection.unknown(&paths);
                    while let Some(fields) = cursor.next_fields(&paths)? {
                        stop.check()?;
                        unknown.retain(|path| fields.get(path).is_none());
                        out.map(&fields, format)?;
                    }
                    collection.note(&unknown);
                }
                None => {
                    for document in cursor {
                        stop.check()?;
                        out.document(&document?, format)?;
                    }
                }
            }
            out.finish()
        })
    }
}

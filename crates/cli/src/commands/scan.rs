//! `alluvium scan`: prints documents in the order of their `_id`.

use crate::exit::Outcome;
use crate::output::format::{DocumentFormatArgs, Printed};
use crate::output::rows::{self, Rows};
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{FieldArgs, IdArgs, RangeArgs};
use crate::signals::Stop;

/// Arguments of `scan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium scan my.db comments --from evn2 --to evn3 --limit 10
  alluvium scan my.db comments --limit 10 --fields author,score --format table")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    #[command(flatten)]
    range: RangeArgs,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    format: DocumentFormatArgs,
}

impl Args {
    /// Prints the documents.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        let paths = self.fields.paths()?;
        let format = self.format.resolve(Printed::List)?;
        self.collection.read(|collection| {
            let mut cursor = self.range.apply(collection.scan(), self.id).run()?;
            let mut out = Rows::new(format, paths.as_deref().map(rows::headings_of));
            let mut unknown = Vec::new();
            match &paths {
                Some(paths) => {
                    unknown = collection.unknown(paths);
                    while let Some(fields) = cursor.next_fields(paths)? {
                        stop.check()?;
                        unknown.retain(|path| fields.get(path).is_none());
                        out.map(&fields)?;
                    }
                }
                None => {
                    for document in cursor {
                        stop.check()?;
                        out.document(&document?)?;
                    }
                }
            }
            out.finish()?;
            collection.note(&unknown);
            Ok(())
        })
    }
}

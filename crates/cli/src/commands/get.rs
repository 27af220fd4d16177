//! `alluvium get`: prints documents by `_id`.

use crate::exit::{Failure, Outcome};
use crate::output::format::{DocumentFormatArgs, Printed};
use crate::output::rows::{self, Rows};
use crate::settings::access::Reading;
use crate::settings::database::CollectionArgs;
use crate::settings::ids::{self, FieldArgs, IdArgs};
use crate::signals::Stop;

/// Arguments of `get`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium get my.db comments evn2i5p evn2i5q --fields author,body")]
pub(crate) struct Args {
    #[command(flatten)]
    collection: CollectionArgs<Reading>,
    /// The _ids, as extended JSON; what is not JSON is taken as a string
    #[arg(value_name = "ID", required = true, allow_negative_numbers = true)]
    ids: Vec<String>,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    format: DocumentFormatArgs,
    /// Of a read-only store: use the index with this interval, 0 for the index of data blocks; by default the smallest interval
    #[arg(long, value_name = "N")]
    index_interval: Option<u64>,
}

impl Args {
    /// Prints the documents that exist, in the order of the arguments, and reports the missing
    /// ones.
    pub(crate) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let format = self.format.resolve(Printed::Single)?;
        let paths = self.fields.paths()?;
        let missing =
            self.collection.read_by(self.index_interval, self.collection.database.builder()?, |collection| {
                let mut missing = Vec::new();
                let mut out = Rows::new(format, paths.as_deref().map(rows::headings_of));
                let mut unknown = collection.unknown(paths.as_deref().unwrap_or_default());
                for text in &self.ids {
                    let id = self.id.parse(text);
                    let shown = ids::show(&id);
                    let found = match &paths {
                        Some(paths) => match collection.get_fields(id.clone(), paths)? {
                            Some(fields) => {
                                unknown.retain(|path| fields.get(path).is_none());
                                out.map(&fields).map(|()| true)?
                            }
                            None => false,
                        },
                        None => match collection.get(id.clone())? {
                            Some(document) => out.document(&document).map(|()| true)?,
                            None => false,
                        },
                    };
                    if !found {
                        let hint = self.id.hint(text, &id, |other| Ok(collection.get(other)?.is_some()))?;
                        missing.push(format!("{shown}{hint}"));
                    }
                }
                out.finish()?;
                collection.note(&unknown);
                Ok(missing)
            })?;
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Failure::NotFound(format!("not found: {}", missing.join(", ")))),
        }
    }
}

//! `alluvium collections`: the list of collections.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::text;
use alluvium::Collection;

/// Arguments of `collections`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: alluvium collections my.db\n\nEach name is on one line: control characters in it are escaped. --json prints JSON strings."
)]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Print the names as a JSON array
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the full names, sorted.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(store) = self.database.read_only(None)? {
            return self.print(&[store.collection()]);
        }
        self.database.with(|database| {
            let names: Vec<String> = database.collections().iter().map(|info| info.full_name()).collect();
            self.print(&names)
        })
    }

    fn print(&self, names: &[String]) -> Outcome {
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!(names))?;
        } else {
            for name in names {
                out.text(&(text::plain(name) + "\n"))?;
            }
        }
        out.finish()
    }
}

/// Larger collections are estimated; counting the others takes milliseconds.
const MOST_COUNTED: u64 = 100_000;

/// A number of documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentCount {
    pub documents: u64,
    /// False if it is an estimate.
    pub is_exact: bool,
}

/// The number of documents, given an estimate.
pub(super) fn documents(collection: &Collection, estimate: u64) -> DocumentCount {
    match if estimate <= MOST_COUNTED { collection.count().ok() } else { None } {
        Some(documents) => DocumentCount { documents, is_exact: true },
        None => DocumentCount { documents: estimate, is_exact: false },
    }
}

/// Runs a step that may create a collection. If the step fails, a collection that it created is
/// dropped if it has no documents. After a signal it is kept, so that the step can continue later.
pub(super) fn without_leftover<T>(collection: &Collection, step: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let was_there = collection.stats().is_ok();
    step().inspect_err(|failure| {
        let stopped = matches!(failure, Failure::Interrupted(_));
        let is_empty = || collection.scan().limit(1).run().is_ok_and(|mut found| found.next().is_none());
        if !was_there
            && !stopped
            && is_empty()
            && let Err(error) = collection.drop()
        {
            log::warn!(target: "alluvium::command", "an empty collection is left: {error}");
        }
    })
}

//! `alluvium collections`: the list of collections.

use crate::exit::{Failure, Outcome};
use crate::notes;
use crate::output::Output;
use crate::output::format::{FormatArg, FormatName};
use crate::output::rows::{self, Heading};
use crate::output::terminal;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::text;
use alluvium::{Collection, Database, Map, ReadOnly};

/// Arguments of `collections`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium collections my.db
  alluvium collections my.db --format table

On a terminal, and with --format, each collection has its number of documents (~ marks an estimate), the size of its files, and the \
number of its indexes; elsewhere only the names are printed. Each name is on one line: control characters in it are escaped. --json \
prints the names as JSON strings.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    #[command(flatten)]
    format: FormatArg,
    /// Print the names as a JSON array
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The figures of a collection.
struct Figures {
    name: String,
    count: DocumentCount,
    /// Bytes of the files that have only its documents or its indexes.
    bytes: u64,
    /// Bytes of the files that it shares with other collections.
    shared_bytes: u64,
    indexes: u64,
    /// The documents keep the order of insertion.
    is_ordered: bool,
}

impl Args {
    /// Prints the full names, sorted, and the figures.
    pub(crate) fn run(&self) -> Outcome {
        let for_people = (!self.json && terminal::is_present()).then_some(FormatName::Table);
        let format = self.format.format.or(for_people);
        if let Some(store) = self.database.read_only(None)? {
            return match format {
                Some(format) => print_figures(&[Figures::of_read_only(&store)], format),
                None => self.print_names(&[store.collection()]),
            };
        }
        self.database.with(|database| {
            let names: Vec<String> = database.collections().iter().map(|info| info.full_name()).collect();
            match format {
                Some(format) => print_figures(&figures(database, names)?, format)?,
                None => self.print_names(&names)?,
            }
            let views = database.views().len() as u64;
            if views > 0 && format.is_some_and(FormatName::is_for_people) {
                notes::say(&format!("{} beside them: `alluvium view list` shows them", text::counted(views, "view")));
            }
            Ok(())
        })
    }

    fn print_names(&self, names: &[String]) -> Outcome {
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

impl Figures {
    fn of(collection: &Collection, name: String) -> Outcome<Self> {
        let (stats, indexes) = (collection.stats()?, collection.index_stats()?);
        Ok(Self {
            name,
            count: documents(collection, stats.keys),
            bytes: stats.bytes + indexes.iter().map(|index| index.bytes).sum::<u64>(),
            shared_bytes: stats.shared_bytes,
            // The index on _id is the order of the documents.
            indexes: 1 + indexes.len() as u64,
            is_ordered: collection.natural_order()? || collection.capped()?.is_some(),
        })
    }

    fn of_read_only(store: &ReadOnly) -> Self {
        let stats = store.stats();
        let count = DocumentCount { documents: stats.pairs, is_exact: true };
        Self {
            name: store.collection(),
            count,
            bytes: stats.disk_bytes,
            shared_bytes: 0,
            indexes: 1,
            is_ordered: false,
        }
    }

    /// The figures with their units, or as numbers.
    fn row(&self, for_people: bool) -> Map {
        let mut row = Map::new();
        row.push("collection", self.name.as_str());
        if for_people {
            row.push("documents", self.count.to_string());
            row.push("size", self.size());
        } else {
            row.push("documents", self.count.documents);
            row.push("estimated", !self.count.is_exact);
            row.push("bytes", self.bytes);
            row.push("shared_bytes", self.shared_bytes);
        }
        row.push("indexes", self.indexes);
        match (for_people, self.is_ordered) {
            (true, true) => row.push("order", "of insertion"),
            (true, false) => {}
            (false, is_ordered) => row.push("natural_order", is_ordered),
        }
        row
    }

    fn size(&self) -> String {
        match (self.bytes, self.shared_bytes) {
            (0, 0) => "in the log".to_owned(),
            (0, _) => "in shared files".to_owned(),
            (bytes, _) => text::bytes(bytes),
        }
    }
}

fn figures(database: &Database, names: Vec<String>) -> Outcome<Vec<Figures>> {
    let mut all = Vec::new();
    for name in names {
        match Figures::of(&database.collection(&name), name) {
            // The collection was dropped concurrently.
            Err(Failure::Library { error, .. }) if matches!(*error, alluvium::Error::NoSuchCollection { .. }) => {}
            figures => all.push(figures?),
        }
    }
    Ok(all)
}

fn print_figures(figures: &[Figures], format: FormatName) -> Outcome {
    let for_people = format.is_for_people();
    let mut headings: Vec<Heading> = match for_people {
        true => vec!["collection".into(), Heading::right("documents"), Heading::right("size"), "indexes".into()],
        false => ["collection", "documents", "estimated", "bytes", "shared_bytes", "indexes", "natural_order"]
            .map(Heading::from)
            .into(),
    };
    if for_people && figures.iter().any(|figures| figures.is_ordered) {
        headings.push("order".into());
    }
    let rows = figures.iter().map(|figures| Ok(figures.row(for_people)));
    rows::print_figures(rows, &headings, false, format)
}

/// Larger collections are estimated; counting smaller ones takes milliseconds.
const MOST_COUNTED: u64 = 100_000;

/// A number of documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentCount {
    pub documents: u64,
    /// False if it is an estimate.
    pub is_exact: bool,
}

impl std::fmt::Display for DocumentCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.is_exact { "" } else { "~" }, text::count(self.documents))
    }
}

/// The exact number of documents, or the given estimate if it is large.
pub(super) fn documents(collection: &Collection, estimate: u64) -> DocumentCount {
    match if estimate <= MOST_COUNTED { collection.count().ok() } else { None } {
        Some(documents) => DocumentCount { documents, is_exact: true },
        None => DocumentCount { documents: estimate, is_exact: false },
    }
}

/// The number of collections, with their documents and indexes, as text.
pub(super) fn describe_all(database: &Database) -> String {
    let (mut all, mut estimate, mut indexes) = (Vec::new(), 0_u64, 0_u64);
    for info in database.collections() {
        let collection = database.collection(&info.full_name());
        // A collection that is dropped concurrently is left out.
        let (Ok(stats), Ok(of_collection)) = (collection.stats(), collection.indexes()) else { continue };
        estimate += stats.keys;
        indexes += (of_collection.len() as u64).saturating_sub(1);
        all.push(collection);
    }
    let count = || all.iter().map(|collection| collection.count().ok()).sum::<Option<u64>>();
    let documents = if estimate <= MOST_COUNTED { count() } else { None };
    let about = if documents.is_some() { "" } else { "about " };
    let documents = text::counted(documents.unwrap_or(estimate), "document");
    match all.len() {
        0 => "none".to_owned(),
        n => format!("{}, with {about}{documents} and {}", text::count(n as u64), indexes_of(indexes)),
    }
}

fn indexes_of(indexes: u64) -> String {
    match indexes {
        0 => "no indexes but those on _id".to_owned(),
        1 => "1 index".to_owned(),
        n => format!("{} indexes", text::count(n)),
    }
}

/// Runs a step that may create a collection. If the step fails, a collection that it created is dropped if it has no
/// documents. After a signal the collection is kept, so that the step can continue later.
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

//! `alluvium index list`.

use crate::commands::collections::{self, DocumentCount};
use crate::exit::Outcome;
use crate::output::Output;
use crate::output::format::{FormatArg, FormatName};
use crate::output::rows::{self, Heading};
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::text::{self, columns};
use alluvium::{BuildProgress, Collection, Database, IndexInfo, IndexStats, Map, Value};
use alluvium_document::json::{self, Format};

/// Arguments of `index list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium index list my.db comments
  alluvium index list my.db --format table
  alluvium index list my.db --json

Numbers of entries are estimates. Bytes count only sorted files that contain nothing but the index. `alluvium stats DB COLLECTION` prints more.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// List only the indexes of this collection: a name, or LOGICAL.NAME
    #[arg(value_name = "COLLECTION")]
    name: Option<String>,
    #[command(flatten)]
    format: FormatArg,
    /// Print all figures as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Args {
    /// Prints the indexes, in the order of their creation.
    pub(crate) fn run(&self) -> Outcome {
        super::refuse_read_only(&self.database)?;
        self.database.with(|database| {
            let names = match &self.name {
                Some(name) => vec![name.clone()],
                None => database.collections().iter().map(|info| info.full_name()).collect(),
            };
            match self.format.format {
                Some(format) => print_rows(database, &names, format),
                None => self.print(database, &names),
            }
        })
    }

    fn print(&self, database: &Database, names: &[String]) -> Outcome {
        let mut out = Output::paged();
        let mut all = Vec::new();
        for name in names {
            let collection = database.collection(name);
            let full_name = collection.full_name()?;
            let indexes = collection.index_stats()?;
            let count = collections::documents(&collection, collection.stats()?.keys);
            if self.json {
                all.push(of_id(&full_name, count.documents));
                all.extend(indexes.iter().map(|index| to_json(&full_name, index)));
                continue;
            }
            if self.name.is_none() {
                out.text(&(text::plain(&full_name) + "\n"))?;
            }
            out.text(&describe(&collection, count, &indexes)?)?;
            out.text(&not_built(&collection)?)?;
        }
        if self.json {
            out.json(&serde_json::json!({ "indexes": all }))?;
        }
        out.finish()
    }
}

/// A line for each index of a kind that is not built.
pub(crate) fn not_built(collection: &Collection) -> alluvium::Result<String> {
    let indexes = collection.indexes()?.into_iter().filter(|index| !index.is_built);
    let line = |index: IndexInfo| {
        let name = text::plain(&index.name);
        format!("index {name}: kept, and not built (text, geographic and wildcard indexes have no effect)\n")
    };
    Ok(indexes.map(line).collect())
}

/// Prints a row for each index.
fn print_rows(database: &Database, names: &[String], format: FormatName) -> Outcome {
    let mut all = Vec::new();
    for name in names {
        let collection = database.collection(name);
        let full_name = collection.full_name()?;
        let (indexes, stats) = (collection.indexes()?, collection.index_stats()?);
        let count = collections::documents(&collection, collection.stats()?.keys);
        for info in indexes {
            let found = stats.iter().find(|index| index.name == info.name);
            all.push(row(&full_name, &info, found, count, format.is_for_people()));
        }
    }
    let columns: [Heading; 7] = match format.is_for_people() {
        true => {
            let (entries, size) = (Heading::right("entries"), Heading::right("size"));
            ["collection".into(), "name".into(), "key".into(), "options".into(), entries, size, "state".into()]
        }
        false => ["collection", "name", "key", "options", "entries", "bytes", "state"].map(Heading::from),
    };
    rows::print_figures(all.into_iter().map(Ok), &columns, false, format)
}

/// The figures of an index. The index on `_id` has no statistics, because its entries are the documents.
fn row(collection: &str, info: &IndexInfo, stats: Option<&IndexStats>, count: DocumentCount, for_people: bool) -> Map {
    let mut row = Map::new();
    row.push("collection", collection);
    row.push("name", info.name.as_str());
    row.push("key", info.definition.get("key").cloned());
    let options = info.definition.iter().filter(|(name, _)| !matches!(name.as_str(), Some("v" | "key" | "name")));
    let options: Map = options.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !(for_people && options.is_empty()) {
        row.push("options", options);
    }
    let entries = match stats {
        Some(stats) => DocumentCount { documents: stats.entries, is_exact: false },
        None if !info.is_built => DocumentCount { documents: 0, is_exact: true },
        None => count,
    };
    let bytes = stats.map(|stats| stats.bytes);
    if for_people {
        row.push("entries", entries.to_string());
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            row.push("size", text::bytes(bytes));
        }
    } else {
        row.push("entries", entries.documents);
        row.push("bytes", bytes);
    }
    row.push(
        "state",
        match (info.is_built, info.ready) {
            (false, _) => "not built",
            (true, true) => "ready",
            (true, false) => "being built",
        },
    );
    row
}

/// The index on `_id`, which every collection has.
fn of_id(collection: &str, documents: u64) -> serde_json::Value {
    serde_json::json!({
        "collection": collection,
        "name": "_id_",
        "definition": { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
        "ready": true,
        "entries_estimated": documents,
    })
}

/// All statistics of an index.
pub(crate) fn to_json(collection: &str, index: &IndexStats) -> serde_json::Value {
    let definition = Value::Map(index.definition.clone());
    let definition = json::to_string(&definition, Format::RELAXED).unwrap_or_default();
    serde_json::json!({
        "collection": collection,
        "name": index.name,
        "definition": serde_json::from_str::<serde_json::Value>(&definition).unwrap_or_default(),
        "ready": index.ready,
        "entries_estimated": index.entries,
        "bytes": index.bytes,
        "shared_bytes": index.shared_bytes,
        "sampled": index.sampled,
        "sampled_stale": index.sampled_stale,
        "stale_share_estimated": index.stale_share(),
        "uses": index.uses,
        "last_used_unix_ms": index.last_used_ms,
        "examined": index.examined,
        "examined_stale": index.examined_stale,
        "build": index.build.map(|build| {
            serde_json::json!({ "documents": build.documents, "documents_expected": build.documents_expected })
        }),
    })
}

/// The keys of an index, and the options that are set: `{"mail":1} unique sparse`.
pub(crate) fn definition_of(definition: &Map) -> String {
    let shown = |value: &Value| json::to_string(value, Format::RELAXED).unwrap_or_default();
    let mut said = definition.get("key").map(shown).unwrap_or_default();
    for (name, value) in definition.iter() {
        match (name.as_str().unwrap_or_default(), value) {
            ("v" | "key" | "name", _) => {}
            (name, Value::Bool(true)) => said += &format!(" {name}"),
            ("partialFilterExpression", filter) => said += &format!(" partial {}", shown(filter)),
            ("expireAfterSeconds", seconds) => said += &format!(" expires after {} s", shown(seconds)),
            (name, value) => said += &format!(" {name} {}", shown(value)),
        }
    }
    said
}

/// The progress of a build.
pub(crate) fn describe_build(build: BuildProgress) -> String {
    let (documents, expected) = (text::count(build.documents), text::count(build.documents_expected));
    match build.documents_expected {
        0 => "being built".to_owned(),
        _ => format!("being built: {documents} of about {expected} documents"),
    }
}

fn describe(collection: &Collection, count: DocumentCount, indexes: &[IndexStats]) -> Outcome<String> {
    let mut rows = Vec::new();
    for info in collection.indexes()? {
        let stats = indexes.iter().find(|index| index.name == info.name);
        let entries = |entries: u64| match entries {
            1 => "about 1 entry".to_owned(),
            n => format!("about {} entries", text::count(n)),
        };
        let figures = match stats {
            None if !info.is_built => "not built: kept as a definition".to_owned(),
            // The index was created after the statistics were read.
            None if info.name != "_id_" => "being built".to_owned(),
            None if count.is_exact => text::counted(count.documents, "document"),
            None => format!("{}, the documents themselves", entries(count.documents)),
            Some(IndexStats { build: Some(build), .. }) => describe_build(*build),
            Some(stats) if stats.bytes == 0 => entries(stats.entries),
            Some(stats) => format!("{}, {}", entries(stats.entries), text::bytes(stats.bytes)),
        };
        rows.push((info.name, (definition_of(&info.definition), figures)));
    }
    let width = rows.iter().map(|(_, (definition, _))| definition.chars().count()).max().unwrap_or(0);
    let row =
        |(name, (definition, figures)): (String, (String, String))| (name, format!("{definition:width$}  {figures}"));
    Ok(columns(&rows.into_iter().map(row).collect::<Vec<_>>()))
}

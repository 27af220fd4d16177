//! Statistics of one collection.

use super::Detail;
use crate::commands::collections::{self, DocumentCount};
use crate::commands::index::{definition_of, describe_build, not_built, to_json as index_to_json};
use crate::exit::Outcome;
use crate::notes;
use crate::output::Output;
use crate::text::{self, columns};
use alluvium::{Collection, IndexStats, TreeStats};

/// The number of fields whose names are listed without `--verbose`.
const MOST_FIELDS: usize = 40;

/// Prints the statistics.
pub(super) fn print(collection: &Collection, detail: Detail) -> Outcome {
    let (stats, indexes) = (collection.stats()?, collection.index_stats()?);
    let full_name = collection.full_name()?;
    let documents = collections::documents(collection, stats.keys);
    let mut out = Output::new();
    if detail == Detail::Json {
        let mut figures = to_json(&stats, documents.documents);
        figures["indexes"] = indexes.iter().map(|index| index_to_json(&full_name, index)).collect();
        figures["fields"] = notes::names(collection).into();
        figures["collection"] = full_name.into();
        out.json(&figures)?;
    } else {
        let with_engine = detail == Detail::Engine;
        out.text(&describe(&stats, documents, &notes::names(collection), with_engine))?;
        for index in &indexes {
            out.text(&describe_index(index, with_engine))?;
        }
        out.text(&not_built(collection)?)?;
    }
    out.finish()
}

fn to_json(stats: &TreeStats, documents: u64) -> serde_json::Value {
    serde_json::json!({
        "documents_estimated": documents,
        "files": stats.files,
        "bytes": stats.bytes,
        "raw_bytes": stats.raw_bytes,
        "entries": stats.entries,
        "tombstones": stats.tombstones,
        "shared_files": stats.shared_files,
        "shared_bytes": stats.shared_bytes,
    })
}

fn describe(stats: &TreeStats, count: DocumentCount, fields: &[String], with_engine: bool) -> String {
    let mut rows = vec![
        ("documents", format!("{}{}", if count.is_exact { "" } else { "about " }, text::count(count.documents))),
        ("fields", names_of(fields, if with_engine { usize::MAX } else { MOST_FIELDS })),
    ];
    if with_engine {
        rows.extend(files(stats));
    } else {
        rows.push(("on disk", size(stats.files, stats.bytes, stats.shared_bytes)));
    }
    if let Some(share) = text::ratio(100.0 * stats.bytes as f64, stats.raw_bytes as f64) {
        let (raw, bytes) = (text::bytes(stats.raw_bytes), text::bytes(stats.bytes));
        rows.push(("compression", format!("{raw} of keys and rows in {bytes} ({share:.0}%)")));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    columns(&rows)
}

/// The names of fields, at most `most` of them.
fn names_of(fields: &[String], most: usize) -> String {
    match fields.len() {
        0 => "none known".to_owned(),
        all if all > most => {
            let more = text::count((all - most) as u64);
            format!("{} and {more} more (`alluvium describe` shows them)", fields[..most].join(", "))
        }
        _ => fields.join(", "),
    }
}

/// The bytes of files, as text.
fn size(files: u64, bytes: u64, shared_bytes: u64) -> String {
    match (files, shared_bytes) {
        (0, 0) => "in no file yet: all of it is in memory and the log".to_owned(),
        (0, shared) => format!("a part of {} that it shares with other collections", text::bytes(shared)),
        (_, 0) => text::bytes(bytes),
        (_, shared) => format!("{}, and a part of {} shared", text::bytes(bytes), text::bytes(shared)),
    }
}

/// The figures of the sorted files.
fn files(stats: &TreeStats) -> Vec<(&'static str, String)> {
    let files = |files: u64, bytes: u64| format!("{}, {}", text::counted(files, "file"), text::bytes(bytes));
    let counted = format!("{}, {} of them tombstones", text::count(stats.entries), text::count(stats.tombstones));
    let entries = match (stats.files, stats.shared_files) {
        (0, 0) => "in no file yet: all of it is in memory and the log".to_owned(),
        (0, _) => "in shared files, which do not count them for each collection".to_owned(),
        (_, 0) => counted,
        _ => format!("{counted}; those in shared files are not counted for each collection"),
    };
    vec![
        ("files of its own", if stats.files == 0 { "none".to_owned() } else { files(stats.files, stats.bytes) }),
        (
            "files shared",
            match stats.shared_files {
                0 => "none".to_owned(),
                n => format!("{}, of which a part is its", files(n, stats.shared_bytes)),
            },
        ),
        ("entries", entries),
    ]
}

fn describe_index(index: &IndexStats, with_engine: bool) -> String {
    let mut rows = vec![
        ("  definition", definition_of(&index.definition)),
        ("  entries", format!("about {}", text::count(index.entries))),
        ("  on disk", size(index.bytes, index.bytes, index.shared_bytes)),
    ];
    if let Some(share) = index.stale_share().filter(|_| with_engine) {
        let (stale, sampled) = (text::count(index.sampled_stale), text::counted(index.sampled, "entry"));
        let sampled = sampled.replace("entrys", "entries");
        rows.push(("  stale", format!("about {:.0}% ({stale} of {sampled} looked at)", share * 100.0)));
    }
    match index.build {
        Some(build) => rows.push(("  state", describe_build(build))),
        None if with_engine => {
            let last = index.last_used_ms.map(|at| format!(", last {}", alluvium_document::json::date_to_iso(at)));
            let uses = text::count(index.uses);
            rows.push(("  uses", format!("{uses} since the database was opened{}", last.unwrap_or_default())));
        }
        None => {}
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    format!("index {}\n{}", text::plain(&index.name), columns(&rows))
}

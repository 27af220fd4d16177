//! Figures of one collection.

use crate::exit::Outcome;
use crate::output::Output;
use crate::text::{self, columns};
use alluvium::{Collection, TreeStats};

/// Prints them.
pub(super) fn print(collection: &Collection, json: bool) -> Outcome {
    let stats = collection.stats()?;
    let mut out = Output::new();
    if json {
        let mut figures = to_json(&stats);
        figures["collection"] = collection.full_name()?.into();
        out.json(&figures)?;
    } else {
        out.text(&describe(&stats))?;
    }
    out.finish()
}

fn to_json(stats: &TreeStats) -> serde_json::Value {
    serde_json::json!({
        "documents_estimated": stats.keys,
        "files": stats.files,
        "bytes": stats.bytes,
        "raw_bytes": stats.raw_bytes,
        "entries": stats.entries,
        "tombstones": stats.tombstones,
        "shared_files": stats.shared_files,
        "shared_bytes": stats.shared_bytes,
    })
}

fn describe(stats: &TreeStats) -> String {
    let files = |files: u64, bytes: u64| format!("{}, {}", text::counted(files, "file"), text::bytes(bytes));
    let mut rows = vec![
        ("documents", format!("about {}", text::count(stats.keys))),
        ("files of its own", files(stats.files, stats.bytes)),
        ("files shared", files(stats.shared_files, stats.shared_bytes)),
        ("entries", format!("{}, {} of them tombstones", text::count(stats.entries), text::count(stats.tombstones))),
    ];
    if let Some(ratio) = text::ratio(stats.bytes as f64, stats.raw_bytes as f64) {
        let (raw, bytes) = (text::bytes(stats.raw_bytes), text::bytes(stats.bytes));
        rows.push(("compression", format!("{raw} of keys and rows in {bytes} ({ratio:.3})")));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    columns(&rows)
}

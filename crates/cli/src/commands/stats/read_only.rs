//! Statistics of a read-only store.

use crate::exit::Outcome;
use crate::output::Output;
use crate::text::{self, columns};
use alluvium::{ReadOnly, ReadOnlyContent};

/// Prints the statistics.
pub(super) fn print(store: &ReadOnly, json: bool) -> Outcome {
    let mut out = Output::new();
    if json {
        out.json(&to_json(store))?;
    } else {
        out.text(&describe(store))?;
    }
    out.finish()
}

fn content(store: &ReadOnly) -> &'static str {
    match store.content() {
        ReadOnlyContent::Documents => "documents",
        ReadOnlyContent::KeyValues => "key_values",
    }
}

fn to_json(store: &ReadOnly) -> serde_json::Value {
    let stats = store.stats();
    let indexes = stats
        .indexes
        .iter()
        .map(|index| serde_json::json!({ "interval": index.interval, "entries": index.entries, "bytes": index.bytes }));
    serde_json::json!({
        "read_only": true,
        "content": content(store),
        "collection": store.collection(),
        "pairs": stats.pairs,
        "duplicates": stats.duplicates,
        "raw_bytes": stats.raw_bytes,
        "disk_bytes": stats.disk_bytes,
        "data_bytes": stats.data_bytes,
        "indexes": indexes.collect::<Vec<_>>(),
        "index_interval": stats.index_interval,
        "memory_budget_bytes": stats.memory_budget_bytes,
        "pinned_bytes": stats.pinned_bytes,
    })
}

fn describe(store: &ReadOnly) -> String {
    let stats = store.stats();
    let what = match store.content() {
        ReadOnlyContent::Documents => "documents",
        ReadOnlyContent::KeyValues => "pairs",
    };
    let mut rows = vec![
        ("read-only", format!("{} of {}", content(store).replace('_', "/"), store.collection())),
        (what, text::count(stats.pairs)),
        ("on disk", text::bytes(stats.disk_bytes)),
    ];
    if stats.duplicates > 0 {
        rows.push(("left out", text::counted(stats.duplicates, "duplicate")));
    }
    if let Some(ratio) = text::ratio(stats.data_bytes as f64, stats.raw_bytes as f64) {
        let (raw, data) = (text::bytes(stats.raw_bytes), text::bytes(stats.data_bytes));
        rows.push(("compression", format!("{raw} of keys and values in {data} ({ratio:.3})")));
    }
    for index in &stats.indexes {
        let (entries, bytes) = (text::count(index.entries), text::bytes(index.bytes));
        rows.push(("index", format!("every {} keys: {entries} entries, {bytes}", text::count(index.interval))));
    }
    if stats.indexes.is_empty() {
        rows.push(("index", "an entry for each data block".to_owned()));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    columns(&rows)
}

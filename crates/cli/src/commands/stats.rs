//! `alluvium stats`: figures of a database.

mod read_only;

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::DatabaseArgs;
use crate::text::{self, columns};
use alluvium::{Database, PartitionStats, Stats};

/// Arguments of `stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium stats my.db --json")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the figures of the database as it was opened.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(store) = self.database.read_only(None)? {
            return read_only::print(&store, self.json);
        }
        self.database.with(|database| {
            let stats = database.stats();
            let mut out = Output::new();
            if self.json {
                let mut figures = to_json(&stats);
                figures["collections"] = database.collections().len().into();
                figures["open_seconds"] = database.report().took.as_secs_f64().into();
                out.json(&figures)?;
            } else {
                out.text(&describe(database, &stats))?;
            }
            out.finish()
        })
    }
}

/// All figures; bytes and counts since opening, unless they are of the moment.
pub(crate) fn to_json(stats: &Stats) -> serde_json::Value {
    let partition = |p: &PartitionStats| {
        serde_json::json!({
            "runs": p.runs,
            "files": p.files,
            "bytes": p.bytes,
            "raw_bytes": p.raw_bytes,
            "entries": p.entries,
            "tombstones": p.tombstones,
            "trivial_moves": p.trivial_moves,
        })
    };
    serde_json::json!({
        "disk_bytes": stats.disk_bytes,
        "log_bytes": stats.log_bytes,
        "log_bytes_written": stats.log_bytes_written,
        "flushed_bytes": stats.flushed_bytes,
        "compacted_bytes": stats.compacted_bytes,
        "memory_budget_bytes": stats.memory_budget_bytes,
        "memtable_bytes": stats.memtable_bytes,
        "cache_bytes": stats.cache_bytes,
        "pinned_bytes": stats.pinned_bytes,
        "cache_hits": stats.cache_hits,
        "cache_misses": stats.cache_misses,
        "debt": stats.debt,
        "compaction_debt_bytes": stats.compaction_debt_bytes,
        "admission_waits": stats.admission_waits,
        "admission_waited_seconds": stats.admission_waited.as_secs_f64(),
        "snapshots": stats.snapshots,
        "oldest_snapshot_age_seconds": stats.oldest_snapshot_age.map(|age| age.as_secs_f64()),
        "snapshot_debt_bytes": stats.snapshot_debt_bytes,
        "deltas_refused": stats.deltas_refused,
        "visible": stats.visible,
        "background_error": stats.background_error,
        "partitions": stats.partitions.iter().map(partition).collect::<Vec<_>>(),
    })
}

fn snapshots(stats: &Stats) -> String {
    let oldest =
        stats.oldest_snapshot_age.map_or_else(String::new, |age| format!(", the oldest {}", text::duration(age)));
    format!(
        "{}{oldest}, {} kept on disk for them",
        text::count(stats.snapshots as u64),
        text::bytes(stats.snapshot_debt_bytes)
    )
}

fn describe(database: &Database, stats: &Stats) -> String {
    let sum = |figure: fn(&PartitionStats) -> u64| stats.partitions.iter().map(figure).sum::<u64>();
    let runs = stats.partitions.iter().map(|p| p.runs).max().unwrap_or(0);
    let files = sum(|p| p.files as u64);
    let (bytes, raw) = (sum(|p| p.bytes), sum(|p| p.raw_bytes));
    let mut rows = vec![
        ("collections", database.collections().len().to_string()),
        ("partitions", stats.partitions.len().to_string()),
        ("on disk", format!("{}, {} of it log", text::bytes(stats.disk_bytes), text::bytes(stats.log_bytes))),
        (
            "sorted files",
            format!("{} in at most {} a partition", text::count(files), text::counted(runs as u64, "run")),
        ),
        (
            "entries",
            format!("{}, {} of them tombstones", text::count(sum(|p| p.entries)), text::count(sum(|p| p.tombstones))),
        ),
        (
            "memory",
            format!(
                "{} of {}: write buffers {}, cache {}, indexes {}",
                text::bytes((stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes) as u64),
                text::bytes(stats.memory_budget_bytes as u64),
                text::bytes(stats.memtable_bytes as u64),
                text::bytes(stats.cache_bytes as u64),
                text::bytes(stats.pinned_bytes as u64),
            ),
        ),
        ("debt", format!("{:.2}, {} to compact", stats.debt, text::bytes(stats.compaction_debt_bytes))),
        ("snapshots", snapshots(stats)),
        ("opened in", text::duration(database.report().took)),
    ];
    if let Some(ratio) = text::ratio(bytes as f64, raw as f64) {
        rows.push((
            "compression",
            format!("{} of keys and rows in {} ({ratio:.3})", text::bytes(raw), text::bytes(bytes)),
        ));
    }
    if stats.deltas_refused > 0 {
        rows.push(("blind updates", format!("{} could not apply", text::count(stats.deltas_refused))));
    }
    if let Some(error) = &stats.background_error {
        rows.push(("failing", error.clone()));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    columns(&rows)
}

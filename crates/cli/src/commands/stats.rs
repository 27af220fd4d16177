//! `alluvium stats`: statistics of a database.

mod collection;
mod engine;
mod read_only;

use super::collections;
use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::text::{self, columns};
use alluvium::{Database, PartitionStats, Stats};

/// Arguments of `stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  alluvium stats my.db
  alluvium stats my.db comments
  alluvium stats my.db --verbose
  alluvium stats my.db --json

--verbose prints the figures of the storage engine: files, runs, tombstones, amplification, partitions. --json prints all of them. \
The bytes of the log, and so the bytes on disk, include the space that is reserved for the log while the database is open. \
`alluvium describe` shows the fields of a collection and their values.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Statistics of this collection only (NAME or LOGICAL.NAME): its fields, documents and files
    #[arg(value_name = "COLLECTION")]
    collection: Option<String>,
    /// Print also the figures of the storage engine
    #[arg(long)]
    verbose: bool,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// The figures of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Words,
    /// With the figures of the storage engine.
    Engine,
    Json,
}

impl Args {
    /// Prints the statistics right after the database is opened.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(name) = &self.collection {
            return self.database.with(|database| {
                let detail = if self.json {
                    Detail::Json
                } else if self.verbose {
                    Detail::Engine
                } else {
                    Detail::Words
                };
                collection::print(&database.collection(name), detail)
            });
        }
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
                if self.verbose {
                    out.text(&("\n".to_owned() + &engine::describe(database, &stats)))?;
                }
            }
            out.finish()
        })
    }
}

/// All statistics. Counters start when the database is opened.
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
            "ranges": p.ranges,
            "range_bytes": p.range_bytes,
            "base_bytes": p.base_bytes,
            "live_bytes": p.live_bytes,
            "memtable_bytes": p.memtable_bytes,
            "sealed_memtables": p.sealed_memtables,
            "sealed_memtable_bytes": p.sealed_memtable_bytes,
            "flushes": p.flushes,
            "taken_bytes": p.taken_bytes,
            "flushed_bytes": p.flushed_bytes,
            "compactions": p.compactions,
            "compacted_bytes": p.compacted_bytes,
            "compaction_debt_bytes": p.compaction_debt_bytes,
            "files_held": p.files_held,
            "space_amplification": p.space_amplification(),
            "write_amplification": p.write_amplification(),
            "read_amplification": p.read_amplification(),
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
        "sealed_memtable_bytes": stats.sealed_memtable_bytes,
        "dictionary_bytes": stats.dictionary_bytes,
        "job_bytes": stats.job_bytes,
        "query_bytes": stats.query_bytes,
        "space_amplification": stats.space_amplification(),
        "write_amplification": stats.write_amplification(),
        "read_amplification": stats.read_amplification(),
        "files_held": stats.files_held,
        "cache_hits": stats.cache_hits,
        "cache_misses": stats.cache_misses,
        "cache_hit_rate": stats.cache_hit_rate(),
        "gets": stats.gets,
        "blocks_read_by_gets": stats.blocks_read_by_gets,
        "blocks_read_per_get": stats.blocks_read_per_get(),
        "debt": stats.debt,
        "compaction_debt_bytes": stats.compaction_debt_bytes,
        "admission_waits": stats.admission_waits,
        "admission_waited_seconds": stats.admission_waited.as_secs_f64(),
        "snapshots": stats.snapshots,
        "oldest_snapshot_age_seconds": stats.oldest_snapshot_age.map(|age| age.as_secs_f64()),
        "oldest_snapshot_seq": stats.oldest_snapshot_seq,
        "snapshot_debt_bytes": stats.snapshot_debt_bytes,
        "deltas_refused": stats.deltas_refused,
        "visible": stats.visible,
        "background_error": stats.background_error,
        "partitions": stats.partitions.iter().map(partition).collect::<Vec<_>>(),
    })
}

/// The figures of a database.
fn describe(database: &Database, stats: &Stats) -> String {
    let sum = |figure: fn(&PartitionStats) -> u64| stats.partitions.iter().map(figure).sum::<u64>();
    let (bytes, raw) = (sum(|p| p.bytes), sum(|p| p.raw_bytes));
    let used = stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes + stats.job_bytes;
    let mut rows = vec![
        ("collections", collections::describe_all(database)),
        ("on disk", on_disk(stats)),
        ("memory", format!("{} of {}", text::bytes(used as u64), text::bytes(stats.memory_budget_bytes as u64))),
        ("state", state(stats)),
        ("opened in", text::duration(database.report().took)),
    ];
    if let Some(share) = text::ratio(100.0 * bytes as f64, raw as f64) {
        let (raw, bytes) = (text::bytes(raw), text::bytes(bytes));
        rows.push(("compression", format!("{raw} of documents and indexes in {bytes} ({share:.0}%)")));
    }
    if stats.snapshots > 0 {
        rows.push(("snapshots", engine::snapshots(stats)));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    columns(&rows)
}

fn on_disk(stats: &Stats) -> String {
    let (all, log) = (text::bytes(stats.disk_bytes), text::bytes(stats.log_bytes));
    format!("{all}, of which the log and the space reserved for it take {log}")
}

/// Whether writes are slowed, and which background work is pending.
fn state(stats: &Stats) -> String {
    match (&stats.background_error, stats.compaction_debt_bytes) {
        (Some(error), _) => format!("failing: {error}"),
        (None, 0) => "good: nothing is left to merge".to_owned(),
        (None, bytes) if stats.debt >= 1.0 => format!("writes wait: {} are left to merge", text::bytes(bytes)),
        (None, bytes) => format!("good: {} are merged in the background", text::bytes(bytes)),
    }
}

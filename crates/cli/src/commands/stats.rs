//! `alluvium stats`: statistics of a database.

mod collection;
mod read_only;

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::text::{self, columns};
use alluvium::{Database, PartitionStats, Stats};

/// Arguments of `stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: alluvium stats my.db --json
          alluvium stats my.db comments

The bytes of the log, and so the bytes on disk, include the space that is reserved for the log while the database is open.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Statistics of this collection only (NAME or LOGICAL.NAME): its fields, documents and files
    #[arg(value_name = "COLLECTION")]
    collection: Option<String>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the statistics of the database after opening.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(name) = &self.collection {
            return self.database.with(|database| collection::print(&database.collection(name), self.json));
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
            }
            out.finish()
        })
    }
}

/// All statistics. Counters start at opening.
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

fn snapshots(stats: &Stats) -> String {
    let oldest =
        stats.oldest_snapshot_age.map_or_else(String::new, |age| format!(", the oldest {}", text::duration(age)));
    format!(
        "{}{oldest}, {} and {} kept on disk for them",
        text::count(stats.snapshots as u64),
        text::bytes(stats.snapshot_debt_bytes),
        text::counted(stats.files_held as u64, "dropped file")
    )
}

fn amplification(stats: &Stats) -> String {
    let times = |figure: Option<f64>| figure.map_or_else(|| "none yet".to_owned(), |figure| format!("{figure:.2}"));
    format!(
        "space {}, writes {}, a get looks at {} at most",
        times(stats.space_amplification()),
        times(stats.write_amplification()),
        text::counted(stats.read_amplification() as u64, "place"),
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
        (
            "on disk",
            format!(
                "{}, {} of it log with reserved space",
                text::bytes(stats.disk_bytes),
                text::bytes(stats.log_bytes)
            ),
        ),
        (
            "sorted files",
            format!("{} in at most {} per partition", text::count(files), text::counted(runs as u64, "run")),
        ),
        (
            "entries",
            format!("{}, {} of them tombstones", text::count(sum(|p| p.entries)), text::count(sum(|p| p.tombstones))),
        ),
        (
            "memory",
            format!(
                "{} of {}: write buffers {}, cache {}, indexes {}, flushes and merges {}",
                text::bytes((stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes + stats.job_bytes) as u64),
                text::bytes(stats.memory_budget_bytes as u64),
                text::bytes(stats.memtable_bytes as u64),
                text::bytes(stats.cache_bytes as u64),
                text::bytes(stats.pinned_bytes as u64),
                text::bytes(stats.job_bytes as u64),
            ),
        ),
        ("amplification", amplification(stats)),
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
    if let Some(rate) = stats.cache_hit_rate() {
        let blocks = stats.blocks_read_per_get().map_or(String::new(), |blocks| {
            format!(", {blocks:.2} blocks read for each of {}", text::counted(stats.gets, "get"))
        });
        rows.push(("reads", format!("{:.1}% of blocks cached{blocks}", rate * 100.0)));
    }
    let ranges = sum(|p| p.ranges);
    if ranges > 0 {
        let memory = text::bytes(sum(|p| p.range_bytes));
        rows.push((
            "deleted ranges",
            format!("{} until their files are merged, {memory} of memory", text::count(ranges)),
        ));
    }
    if stats.deltas_refused > 0 {
        rows.push(("blind updates", format!("{} could not apply", text::count(stats.deltas_refused))));
    }
    if let Some(error) = &stats.background_error {
        rows.push(("failing", error.clone()));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    columns(&rows) + &partitions(&stats.partitions)
}

/// The number of partitions that are listed; --json lists all.
const MOST_PARTITIONS: usize = 16;

/// A line for each partition.
fn partitions(all: &[PartitionStats]) -> String {
    let mut rows = vec![
        ["partition", "files", "runs", "on disk", "entries", "tombstones", "in memory", "to compact"]
            .map(str::to_owned),
    ];
    rows.extend(all.iter().take(MOST_PARTITIONS).enumerate().map(|(at, partition)| {
        [
            format!("p{at:03}"),
            text::count(partition.files as u64),
            text::count(partition.runs as u64),
            text::bytes(partition.bytes),
            text::count(partition.entries),
            text::count(partition.tombstones),
            text::bytes(partition.memtable_bytes),
            text::bytes(partition.compaction_debt_bytes),
        ]
    }));
    let mut table = text::table(&rows);
    if let Some(more) = all.len().checked_sub(MOST_PARTITIONS).filter(|more| *more > 0) {
        table += &format!("and {more} more (--json lists them all)\n");
    }
    table
}

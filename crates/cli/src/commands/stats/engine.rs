//! The figures of the storage engine, for operators.

use crate::text::{self, columns};
use alluvium::{Database, PartitionStats, Stats};

/// The snapshots that are held, and the data that they pin.
pub(super) fn snapshots(stats: &Stats) -> String {
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

/// The figures as lines of text.
pub(super) fn describe(database: &Database, stats: &Stats) -> String {
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

/// The maximum number of partitions that are listed; --json lists all.
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

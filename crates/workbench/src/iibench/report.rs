//! The results of iibench, and their text.

mod text;

use super::engine::Sizes;
use super::settings::Settings;
use serde::{Deserialize, Serialize};

/// The cost of a part of a run: of the whole process, including background work, unless a field is
/// more specific.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Rows inserted.
    pub inserts: u64,
    /// Wall clock.
    pub seconds: f64,
    /// Processor time.
    pub cpu_seconds: f64,
    /// The part of it for generating and encoding the rows, which is work of the harness.
    pub harness_cpu_seconds: f64,
    /// The part of it that the loaders' threads spent in the engine; the rest is background work.
    pub foreground_cpu_seconds: f64,
    /// The number of times that a thread waited.
    pub voluntary_switches: u64,
    /// The number of times that a thread was preempted.
    pub involuntary_switches: u64,
    /// Kilobytes written to storage, now or later.
    pub written_kb: u64,
    /// Kilobytes read from storage.
    pub read_kb: u64,
    /// System calls that read.
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
    /// System calls that read, by the loaders' threads.
    pub foreground_read_calls: u64,
    /// Kilobytes read from storage for them.
    pub foreground_read_kb: u64,
}

impl Cost {
    /// Rows a second.
    pub fn rate(&self) -> f64 {
        self.inserts as f64 / self.seconds.max(1e-9)
    }

    /// Processor time without the harness's own, in seconds.
    pub fn net_cpu_seconds(&self) -> f64 {
        self.cpu_seconds - self.harness_cpu_seconds
    }
}

/// The figures of an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Rows inserted before its end.
    pub rows: u64,
    /// Its cost.
    pub cost: Cost,
}

/// The cost of a range query over one index, on average.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// 0: the rows by `_id`; from 1 on: the secondary indexes.
    pub index: usize,
    /// The row of every entry was fetched.
    pub fetched: bool,
    /// Entries that a query found, on average.
    pub entries: f64,
    /// Processor time in microseconds.
    pub cpu_us: f64,
    /// Wall clock in microseconds.
    pub wall_us: f64,
    /// System calls that read.
    pub read_calls: f64,
    /// Kilobytes that came from storage.
    pub read_kb: f64,
}

/// The results of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The engine's name.
    pub engine: String,
    /// The parameters of the run.
    pub settings: Settings,
    /// Rows that were inserted; fewer than requested if the time limit was reached.
    pub rows: u64,
    /// Every interval, in their order.
    pub intervals: Vec<Interval>,
    /// From the first row to the last.
    pub load: Cost,
    /// From there until no background work was pending.
    pub settle: Cost,
    /// Bytes by tree, settled.
    pub sizes: Sizes,
    /// Bytes of all files, logs included, settled.
    pub disk_bytes: u64,
    /// Range queries, settled.
    pub queries: Vec<Query>,
    /// The most bytes of memory resident.
    pub peak_memory_bytes: u64,
    /// The machine's load average (1 minute) before and after.
    pub load_average: (f64, f64),
}

impl Report {
    /// Processor time in microseconds for each insert, settling included, without the harness's own.
    pub fn net_cpu_us(&self) -> f64 {
        self.per_row((self.load.net_cpu_seconds() + self.settle.cpu_seconds) * 1e6)
    }

    /// Bytes of each row on disk.
    pub fn bytes_per_row(&self) -> f64 {
        self.per_row(self.sizes.rows as f64)
    }

    /// Bytes of each index entry on disk, all indexes together; `None` without indexes.
    pub fn bytes_per_entry(&self) -> Option<f64> {
        let indexes = &self.sizes.indexes;
        let all: u64 = indexes.iter().sum();
        (!indexes.is_empty()).then(|| self.per_row(all as f64) / indexes.len() as f64)
    }

    fn per_row(&self, all: f64) -> f64 {
        all / self.rows.max(1) as f64
    }

    /// The intervals, a line each.
    pub fn intervals_text(&self) -> String {
        text::intervals(self)
    }

    /// The results of one or several runs, side by side.
    pub fn side_by_side(reports: &[Self]) -> String {
        text::side_by_side(reports)
    }
}

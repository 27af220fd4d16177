//! The results of iibench, and their text.

mod text;

use super::engine::Sizes;
use super::settings::Settings;
use serde::{Deserialize, Serialize};

/// The cost of a part of a run. Unless a field says otherwise, it is the cost of the whole process, including
/// background work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Rows inserted.
    pub inserts: u64,
    /// Wall clock.
    pub seconds: f64,
    /// Rows a second.
    pub inserts_per_second: f64,
    /// Processor time.
    pub cpu_seconds: f64,
    /// Processor time to generate and encode the rows, which is work of the harness; included in `cpu_seconds`.
    pub harness_cpu_seconds: f64,
    /// Processor time that the threads of the loaders spent in the engine; included in `cpu_seconds`. The rest is
    /// background work.
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
    /// System calls that read, by the threads of the loaders.
    pub foreground_read_calls: u64,
    /// Kilobytes read from storage for the threads of the loaders.
    pub foreground_read_kb: u64,
}

impl Cost {
    /// Rows a second.
    pub fn rate(&self) -> f64 {
        self.inserts as f64 / self.seconds.max(1e-9)
    }

    /// Processor time in seconds, excluding the harness.
    pub fn net_cpu_seconds(&self) -> f64 {
        self.cpu_seconds - self.harness_cpu_seconds
    }
}

/// The figures of an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Rows inserted before the end of the interval.
    pub rows: u64,
    /// The cost of the interval.
    pub cost: Cost,
}

/// The treatment of the rows before the queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// They were inserted, and the engine is settled.
    #[default]
    Inserted,
    /// Some were written again, and the engine is settled.
    Rewritten,
    /// Some were written again, and everything is merged.
    Merged,
}

/// The cost of a range query over one index, on average.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// 0: the rows by `_id`; 1 and above: the secondary indexes.
    pub index: usize,
    /// The treatment of the rows before.
    #[serde(default)]
    pub state: State,
    /// True if the row of every entry was fetched.
    pub fetched: bool,
    /// Entries that a query found, on average.
    pub entries: f64,
    /// Processor time in microseconds.
    pub cpu_us: f64,
    /// Wall clock in microseconds.
    pub wall_us: f64,
    /// Half of the queries took less wall clock than this, in microseconds.
    #[serde(default)]
    pub p50_us: f64,
    /// System calls that read.
    pub read_calls: f64,
    /// Kilobytes read from storage.
    pub read_kb: f64,
}

/// The state at the end of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the first row.
    pub seconds: f64,
    /// Rows inserted since the last sample.
    pub put: u64,
    /// Bytes of all files now.
    pub file_bytes: u64,
    /// Bytes of resident memory now.
    pub memory_bytes: u64,
}

/// Figures that are computed from the others, for comparisons of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Rows a second, from the first row to the last.
    pub rate: f64,
    /// Rows a second, including the time to settle.
    pub settled_rate: f64,
    /// Processor time in microseconds for each insert, including settling and excluding the harness.
    pub net_cpu_us: f64,
    /// Bytes of all files for each row, after settling.
    pub disk_bytes_per_row: f64,
    /// Bytes of each row on disk.
    pub bytes_per_row: f64,
    /// Bytes of each index entry on disk.
    pub bytes_per_entry: Option<f64>,
    /// Bytes written for each row, including settling.
    pub written_bytes_per_row: f64,
    /// The cost of 200,000 inserts.
    pub per_200k: Per200k,
}

/// The average cost of 200,000 inserts, including settling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Per200k {
    /// Context switches.
    pub switches: f64,
    /// Processor time, excluding the harness.
    pub cpu_seconds: f64,
    /// Kilobytes written.
    pub written_kb: f64,
    /// Kilobytes read.
    pub read_kb: f64,
    /// System calls that read.
    pub read_calls: f64,
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
    /// All intervals, in order.
    pub intervals: Vec<Interval>,
    /// A sample for each second.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Figures that are computed from the others.
    #[serde(default)]
    pub figures: Figures,
    /// The cost from the first row to the last.
    pub load: Cost,
    /// The cost from the last row until no background work was pending.
    pub settle: Cost,
    /// The bytes of each tree, after settling.
    pub sizes: Sizes,
    /// The bytes of all files including logs, after settling.
    pub disk_bytes: u64,
    /// The range queries, which run after settling.
    pub queries: Vec<Query>,
    /// The peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
    /// The machine's load average (1 minute) before and after.
    pub load_average: (f64, f64),
}

impl Report {
    /// Processor time in microseconds for each insert, including settling and excluding the harness.
    pub fn net_cpu_us(&self) -> f64 {
        self.per_row((self.load.net_cpu_seconds() + self.settle.cpu_seconds) * 1e6)
    }

    /// Bytes of each row on disk.
    pub fn bytes_per_row(&self) -> f64 {
        self.per_row(self.sizes.rows as f64)
    }

    /// Bytes of each index entry on disk, averaged over all indexes; `None` without indexes.
    pub fn bytes_per_entry(&self) -> Option<f64> {
        let indexes = &self.sizes.indexes;
        let all: u64 = indexes.iter().sum();
        (!indexes.is_empty()).then(|| self.per_row(all as f64) / indexes.len() as f64)
    }

    /// Computes the figures that depend on the others.
    pub fn summarize(&self) -> Figures {
        let both = |of: fn(&Cost) -> u64| (of(&self.load) + of(&self.settle)) as f64;
        let each = |all: f64| self.per_row(all * 200_000.0);
        let written_kb = both(|cost| cost.written_kb);
        let cpu_seconds = self.load.net_cpu_seconds() + self.settle.cpu_seconds;
        Figures {
            rate: self.load.rate(),
            settled_rate: self.rows as f64 / (self.load.seconds + self.settle.seconds).max(1e-9),
            net_cpu_us: self.net_cpu_us(),
            disk_bytes_per_row: self.per_row(self.disk_bytes as f64),
            bytes_per_row: self.bytes_per_row(),
            bytes_per_entry: self.bytes_per_entry(),
            written_bytes_per_row: self.per_row(written_kb * 1024.0),
            per_200k: Per200k {
                switches: each(both(|cost| cost.voluntary_switches + cost.involuntary_switches)),
                cpu_seconds: each(cpu_seconds),
                written_kb: each(written_kb),
                read_kb: each(both(|cost| cost.read_kb)),
                read_calls: each(both(|cost| cost.read_calls)),
            },
        }
    }

    fn per_row(&self, all: f64) -> f64 {
        all / self.rows.max(1) as f64
    }

    /// The intervals as text, one per line.
    pub fn intervals_text(&self) -> String {
        text::intervals(self)
    }

    /// The results of one or several runs as text, side by side.
    pub fn side_by_side(reports: &[Self]) -> String {
        text::side_by_side(reports)
    }
}

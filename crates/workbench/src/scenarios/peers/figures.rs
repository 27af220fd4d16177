//! The figures of the scenarios.

use crate::scenarios::run::{Latency, Outcome};
use serde::Serialize;

/// The figures of puts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Loaded {
    /// Documents put; fewer than requested if the time limit was reached.
    pub documents: u64,
    /// The bytes of the documents as JSON.
    pub json_bytes: u64,
    /// Puts a second of all threads, computed from the time that the threads spent in the store.
    pub rate: f64,
    /// Processor time of the process for each put until the last put, in microseconds, excluding the harness.
    pub cpu_us: f64,
    /// As `cpu_us`, but with all background work that the puts caused.
    pub settled_cpu_us: f64,
    /// The latency of a put.
    pub latency: Latency,
    /// Seconds from the last put until no background work was left.
    pub settle_seconds: f64,
    /// Bytes of all files, after settling.
    pub disk_bytes: u64,
    /// Bytes of all files for each byte of JSON.
    pub disk_over_json: f64,
    /// Bytes written to storage for each byte of JSON, including settling.
    pub written_over_json: f64,
    /// The peak resident memory so far, in bytes.
    pub peak_memory_bytes: u64,
}

/// The figures of reads or updates.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Phase {
    /// Operations of all threads.
    pub operations: u64,
    /// Wall clock time.
    pub seconds: f64,
    /// Operations a second.
    pub rate: f64,
    /// Processor time of the process for each operation in microseconds.
    pub cpu_us: f64,
    /// As `cpu_us`, but with all background work that the operations caused.
    pub settled_cpu_us: f64,
    /// The latency of an operation.
    pub latency: Latency,
    /// System calls that read, for each operation. Reads of mapped files are not counted.
    pub read_calls: f64,
    /// Bytes read from storage for each operation.
    pub read_bytes: f64,
    /// Bytes written to storage for each operation, including settling.
    pub written_bytes: f64,
    /// Reads of the device for each operation, by all processes; `None` if the kernel does not count
    /// them.
    pub device_reads: Option<f64>,
    /// The average number of decoded fields of a document; 0 if none were decoded.
    pub fields: f64,
}

impl Phase {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let each = |all: u64| all as f64 / outcome.operations.max(1) as f64;
        Self {
            operations: outcome.operations,
            seconds: outcome.seconds,
            rate: outcome.rate,
            cpu_us: outcome.cpu_us,
            settled_cpu_us: outcome.cpu_us,
            latency: outcome.latency,
            read_calls: each(outcome.usage.read_calls),
            read_bytes: each(outcome.usage.read_bytes),
            written_bytes: each(outcome.usage.written_bytes),
            ..Self::default()
        }
    }
}

/// The figures of the documents scenario. For a floor, only puts are measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DocumentFigures {
    /// Puts of JSON text.
    pub put: Loaded,
    /// Gets of whole documents.
    pub get: Option<Phase>,
    /// Gets of one field.
    pub field: Option<Phase>,
    /// Gets of whole documents with little memory, after the files were dropped from the page cache. No document is
    /// read twice.
    pub cold: Option<Phase>,
    /// Updates that add 1 to a field.
    pub update: Option<Phase>,
    /// The same updates, ten in each transaction: of updates, except that the latency is that of a transaction. `None`
    /// for a store that has no transactions here.
    pub transaction: Option<Phase>,
    /// The peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
}

/// The figures of a mix of puts, deletes and gets.
#[derive(Debug, Clone, Serialize)]
pub struct MixFigures {
    /// Operations of all threads.
    pub operations: u64,
    /// Operations a second.
    pub rate: f64,
    /// Processor time of the process for each operation until the last operation, in microseconds.
    pub cpu_us: f64,
    /// As `cpu_us`, but with all background work that the operations caused.
    pub settled_cpu_us: f64,
    /// The number of operations in the worst whole second divided by the number in the median second.
    pub worst_over_median: f64,
    /// The latency of an operation.
    pub latency: Latency,
    /// Seconds from the last operation until no background work was left.
    pub settle_seconds: f64,
    /// Bytes of all files, after settling.
    pub disk_bytes: u64,
    /// Bytes written to storage for each operation, including settling.
    pub written_bytes: f64,
    /// Bytes read from storage for each operation, including settling.
    pub read_bytes: f64,
    /// The peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
    /// The samples of each second, and the counts.
    pub outcome: Outcome,
}

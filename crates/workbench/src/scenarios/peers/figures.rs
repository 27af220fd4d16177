//! The figures of the scenarios.

use crate::scenarios::run::{Latency, Outcome};
use serde::Serialize;

/// The figures of puts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Loaded {
    /// Documents put; fewer than requested if the time limit was reached.
    pub documents: u64,
    /// The bytes of their JSON.
    pub json_bytes: u64,
    /// Puts a second: of all threads, by the time that they spent in the store.
    pub rate: f64,
    /// Processor time of the process for each put until the last one, in microseconds, without the
    /// harness's own.
    pub cpu_us: f64,
    /// The same with all background work that the puts caused.
    pub settled_cpu_us: f64,
    /// The latency of a put.
    pub latency: Latency,
    /// Seconds from the last put until no background work was left.
    pub settle_seconds: f64,
    /// Bytes of all files, settled.
    pub disk_bytes: u64,
    /// Bytes of all files for each byte of JSON.
    pub disk_over_json: f64,
    /// Bytes written to storage for each byte of JSON, settling included.
    pub written_over_json: f64,
    /// The most bytes of memory resident so far.
    pub peak_memory_bytes: u64,
}

/// The figures of reads or updates.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Phase {
    /// Operations of all threads.
    pub operations: u64,
    /// Wall clock.
    pub seconds: f64,
    /// Operations a second.
    pub rate: f64,
    /// Processor time of the process for each operation in microseconds.
    pub cpu_us: f64,
    /// The same with all background work that the operations caused.
    pub settled_cpu_us: f64,
    /// The latency of an operation.
    pub latency: Latency,
    /// System calls that read, for each operation. Reads of mapped files are none.
    pub read_calls: f64,
    /// Bytes that came from storage, for each operation.
    pub read_bytes: f64,
    /// Bytes written to storage for each operation, settling included.
    pub written_bytes: f64,
    /// Reads of the device for each operation, by all processes; `None` if the kernel does not count
    /// them.
    pub device_reads: Option<f64>,
    /// Fields of a document that were decoded, on average; 0 if none were.
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

/// The figures of the documents scenario. A floor has puts only.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DocumentFigures {
    /// Puts of JSON text.
    pub put: Loaded,
    /// Gets of whole documents.
    pub get: Option<Phase>,
    /// Gets of one field.
    pub field: Option<Phase>,
    /// Gets of whole documents after the files have left the page cache, with little memory; no
    /// document twice.
    pub cold: Option<Phase>,
    /// Updates that add 1 to a field.
    pub update: Option<Phase>,
    /// The most bytes of memory resident.
    pub peak_memory_bytes: u64,
}

/// The figures of a mix of puts, deletes and gets.
#[derive(Debug, Clone, Serialize)]
pub struct MixFigures {
    /// Operations of all threads.
    pub operations: u64,
    /// Operations a second.
    pub rate: f64,
    /// Processor time of the process for each operation until the last one, in microseconds.
    pub cpu_us: f64,
    /// The same with all background work that the operations caused.
    pub settled_cpu_us: f64,
    /// The operations of the worst whole second divided by those of the median second.
    pub worst_over_median: f64,
    /// The latency of an operation.
    pub latency: Latency,
    /// Seconds from the last operation until no background work was left.
    pub settle_seconds: f64,
    /// Bytes of all files, settled.
    pub disk_bytes: u64,
    /// Bytes written to storage for each operation, settling included.
    pub written_bytes: f64,
    /// Bytes that came from storage for each operation, settling included.
    pub read_bytes: f64,
    /// The most bytes of memory resident.
    pub peak_memory_bytes: u64,
    /// The samples of each second, and the counts.
    pub outcome: Outcome,
}

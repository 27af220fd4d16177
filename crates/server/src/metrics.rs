//! The figures in the text format of Prometheus.

use crate::figures::{Figures, Latencies};
use crate::shared::Shared;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::NoLabelSet;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The upper limits of the latency buckets, in microseconds.
const BUCKETS_US: [u64; 16] = [
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    10_000_000,
    u64::MAX,
];

/// All metrics of a server.
pub(crate) struct Metrics {
    shared: Arc<Shared>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The metrics as text.
///
/// # Errors
/// Only formatting errors.
pub(crate) fn text(shared: &Arc<Shared>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("alluvium");
    registry.register_collector(Box::new(Metrics { shared: Arc::clone(shared) }));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let figures = &self.shared.figures;
        let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let transactions = &self.shared.sessions.transactions;
        let counters = [
            ("documents_inserted", "Documents that clients have sent to be inserted", count(&figures.inserts)),
            ("queries", "Commands find and aggregate", count(&figures.queries)),
            ("updates", "Statements of updates", count(&figures.updates)),
            ("deletes", "Statements of deletes", count(&figures.deletes)),
            ("get_mores", "Commands getMore", count(&figures.get_mores)),
            ("requests", "Requests of all commands", count(&figures.requests)),
            ("received_bytes", "Bytes of requests", count(&figures.bytes_in)),
            ("sent_bytes", "Bytes of replies", count(&figures.bytes_out)),
            ("transactions_started", "Transactions of clients", count(&transactions.started)),
            ("transactions_committed", "Transactions that were committed", count(&transactions.committed)),
            ("transactions_aborted", "Transactions that were aborted", count(&transactions.aborted)),
            ("connections_accepted", "Connections since the start", count(&figures.connections_total)),
        ];
        for (name, help, value) in counters {
            counter(&mut encoder, name, help, value)?;
        }
        let open = figures.connections.load(Ordering::Relaxed) as f64;
        gauge(&mut encoder, "connections", "Open connections", open)?;
        gauge(&mut encoder, "cursors", "Open cursors", self.shared.cursors.len() as f64)?;
        gauge(&mut encoder, "sessions", "Sessions in use", self.shared.sessions.len() as f64)?;
        let open = transactions.open.load(Ordering::Relaxed) as f64;
        gauge(&mut encoder, "transactions", "Open transactions of clients", open)?;
        gauge(&mut encoder, "operations", "Requests that run", self.shared.operations.list().len() as f64)?;
        let bytes = self.shared.memory.used() as f64;
        gauge(&mut encoder, "request_bytes", "Bytes of large requests, and of replies that are not sent yet", bytes)?;
        self.encode_store(&mut encoder)?;
        encode_latencies(&mut encoder, figures)
    }
}

impl Metrics {
    fn encode_store(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stats = self.shared.db.stats();
        let counters = [
            ("log_written_bytes", "Bytes written to the write-ahead log", stats.log_bytes_written),
            ("flushed_bytes", "Bytes that flushes wrote", stats.flushed_bytes),
            ("compacted_bytes", "Bytes that compactions wrote", stats.compacted_bytes),
            ("cache_hits", "Blocks found in the cache", stats.cache_hits),
            ("cache_misses", "Blocks read from files", stats.cache_misses),
            ("admission_waits", "Writes that were slowed", stats.admission_waits),
        ];
        for (name, help, value) in counters {
            counter(encoder, name, help, value)?;
        }
        let gauges = [
            ("disk_bytes", "Bytes of all files", stats.disk_bytes as f64),
            ("log_bytes", "Bytes of the write-ahead log", stats.log_bytes as f64),
            ("memory_budget_bytes", "The memory budget", stats.memory_budget_bytes as f64),
            ("memtable_bytes", "Bytes of memtables", stats.memtable_bytes as f64),
            ("cache_bytes", "Bytes of cached blocks", stats.cache_bytes as f64),
            ("pinned_bytes", "Bytes of indexes and dictionaries of open files", stats.pinned_bytes as f64),
            ("query_bytes", "Bytes that queries hold", stats.query_bytes as f64),
            ("job_bytes", "Bytes of running flushes and compactions", stats.job_bytes as f64),
            ("debt", "How far compaction is behind: 0 (not) to 1 (writers wait)", stats.debt),
            ("compaction_debt_bytes", "Bytes that compaction is behind", stats.compaction_debt_bytes as f64),
            ("snapshots", "Live snapshots", stats.snapshots as f64),
            ("runs", "Sorted runs of all partitions", stats.partitions.iter().map(|p| p.runs).sum::<usize>() as f64),
            ("files", "Sorted files of all partitions", stats.partitions.iter().map(|p| p.files).sum::<usize>() as f64),
            ("failing", "1 while background work fails", f64::from(u8::from(stats.background_error.is_some()))),
        ];
        for (name, help, value) in gauges {
            gauge(encoder, name, help, value)?;
        }
        Ok(())
    }
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> Result<(), fmt::Error> {
    let metric = ConstCounter::new(value);
    metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> Result<(), fmt::Error> {
    let metric = ConstGauge::new(value);
    metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn encode_latencies(encoder: &mut DescriptorEncoder<'_>, figures: &Figures) -> Result<(), fmt::Error> {
    let all = figures.latencies();
    let help = "The time of each command in seconds, from its last byte to its reply";
    let mut durations = encoder.encode_descriptor("command_duration_seconds", help, None, MetricType::Histogram)?;
    for Latencies { command, histogram, .. } in &all {
        let labels = [("command", *command)];
        let mut family = durations.encode_family(&labels)?;
        let mut before = 0;
        let buckets = BUCKETS_US.map(|end| {
            let count = if end == u64::MAX { histogram.len() } else { histogram.count_between(0, end) };
            let within = count.saturating_sub(before);
            before = count;
            (if end == u64::MAX { f64::MAX } else { end as f64 / 1e6 }, within)
        });
        let sum = histogram.mean() * histogram.len() as f64 / 1e6;
        family.encode_histogram::<NoLabelSet>(sum, histogram.len(), &buckets, None)?;
    }
    let mut failures =
        encoder.encode_descriptor("command_failures", "Commands that failed", None, MetricType::Counter)?;
    for Latencies { command, failures: count, .. } in &all {
        let labels = [("command", *command)];
        failures.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
    }
    Ok(())
}

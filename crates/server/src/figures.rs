//! Figures of the server, from which `serverStatus`, the metrics and the log of slow operations are made.

use alluvium_env::sync::{Mutex, RwLock};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The longest latency in the histograms, an hour in microseconds. Longer latencies count as this one.
const LONGEST_US: u64 = 3_600_000_000;
/// The number of exact decimal digits in a latency.
const DIGITS: u8 = 2;

/// Counts since the start, and the latencies of each command.
pub(crate) struct Figures {
    pub inserts: AtomicU64,
    pub queries: AtomicU64,
    pub updates: AtomicU64,
    pub deletes: AtomicU64,
    pub get_mores: AtomicU64,
    pub commands: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub requests: AtomicU64,
    pub connections: AtomicUsize,
    pub connections_total: AtomicU64,
    by_command: RwLock<BTreeMap<&'static str, Arc<CommandFigures>>>,
}

/// The figures of one command.
#[derive(Default)]
struct CommandFigures {
    failures: AtomicU64,
    /// The latencies in microseconds. The first call creates the histogram.
    latencies: Mutex<Option<Histogram<u64>>>,
}

/// A copy of the figures of one command.
pub(crate) struct Latencies {
    /// The command.
    pub command: &'static str,
    /// The number of failed calls.
    pub failures: u64,
    /// The latencies of all calls in microseconds.
    pub histogram: Histogram<u64>,
}

impl Figures {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            inserts: zero(),
            queries: zero(),
            updates: zero(),
            deletes: zero(),
            get_mores: zero(),
            commands: zero(),
            bytes_in: zero(),
            bytes_out: zero(),
            requests: zero(),
            connections: AtomicUsize::new(0),
            connections_total: zero(),
            by_command: RwLock::default(),
        }
    }

    /// Adds to a count.
    pub(crate) fn add(count: &AtomicU64, n: u64) {
        count.fetch_add(n, Ordering::Relaxed);
    }

    /// Notes a call of a command.
    pub(crate) fn note(&self, command: &'static str, time: Duration, failed: bool) {
        let known = self.by_command.read().get(command).map(Arc::clone);
        let figures = known.unwrap_or_else(|| Arc::clone(self.by_command.write().entry(command).or_default()));
        figures.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(LONGEST_US);
        let mut latencies = figures.latencies.lock();
        if latencies.is_none() {
            *latencies = Histogram::new_with_bounds(1, LONGEST_US, DIGITS).ok();
        }
        if let Some(histogram) = &mut *latencies {
            histogram.saturating_record(micros.clamp(1, LONGEST_US));
        }
    }

    /// The names of the commands that were called, with the numbers of all calls and of failed calls.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64, u64)> {
        let by_command = self.by_command.read();
        let each = by_command.iter().map(|(command, figures)| {
            let total = figures.latencies.lock().as_ref().map_or(0, Histogram::len);
            (*command, total, figures.failures.load(Ordering::Relaxed))
        });
        each.collect()
    }

    /// The latencies of the commands that were called, in the order of their names.
    pub(crate) fn latencies(&self) -> Vec<Latencies> {
        let by_command = self.by_command.read();
        let each = by_command.iter().filter_map(|(command, figures)| {
            let histogram = figures.latencies.lock().clone()?;
            Some(Latencies { command, failures: figures.failures.load(Ordering::Relaxed), histogram })
        });
        each.collect()
    }
}

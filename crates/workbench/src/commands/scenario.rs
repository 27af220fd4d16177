//! Common parts of the scenarios: their duration, and printing the results.

use crate::scenarios;
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::output::Output;
use alluvium_cli::text;
use serde::Serialize;
use std::time::Duration;

/// The duration and the number of threads.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// The number of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) threads: usize,
    /// How long the scenario runs
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(super) seconds: f64,
    /// The share of looked-up keys that exist, 0 to 1
    #[arg(long, value_name = "SHARE")]
    pub(super) find_rate: Option<f64>,
    /// Another seed chooses other keys
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(super) seed: u64,
    /// Print the figures as JSON, with a sample for each second
    #[arg(long)]
    pub(super) json: bool,
}

impl RunArgs {
    /// The duration.
    pub(super) fn duration(&self) -> Outcome<Duration> {
        if self.threads == 0 {
            return Err(Failure::Usage("--threads is at least 1".to_owned()));
        }
        Duration::try_from_secs_f64(self.seconds)
            .map_err(|_| Failure::Usage("--seconds is a number above zero".to_owned()))
    }

    /// The share of keys that exist.
    pub(super) fn find_rate(&self, default: f64) -> Outcome<f64> {
        match self.find_rate.unwrap_or(default) {
            rate if (0.0..=1.0).contains(&rate) => Ok(rate),
            _ => Err(Failure::Usage("--find-rate is between 0 and 1".to_owned())),
        }
    }
}

/// Prints the figures of a scenario, as JSON or as text.
pub(super) fn print<T: Serialize>(figures: &T, json: bool, describe: impl FnOnce(&T) -> String) -> Outcome {
    let mut out = Output::new();
    if json {
        out.json(&serde_json::to_value(figures).map_err(|error| Failure::Other(error.to_string()))?)?;
    } else {
        out.text(&describe(figures))?;
    }
    out.finish()
}

/// The results of a run, one per line.
pub(super) fn describe(outcome: &scenarios::Outcome) -> String {
    let (latency, usage) = (&outcome.latency, &outcome.usage);
    let per_operation = |n: u64| n as f64 / outcome.operations.max(1) as f64;
    let rows = [
        ("operations", format!("{} in {:.1} s", text::count(outcome.operations), outcome.seconds)),
        ("rate", format!("{} a second", text::count(outcome.rate as u64))),
        ("worst second / median", format!("{:.2}", outcome.worst_over_median)),
        ("processor time", format!("{:.2} µs an operation, background work included", outcome.cpu_us)),
        (
            "latency",
            format!(
                "p50 {:.1} µs, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, slowest {:.1}",
                latency.p50, latency.p90, latency.p99, latency.p999, latency.max
            ),
        ),
        ("read calls", format!("{:.2} an operation", per_operation(usage.read_calls))),
        ("read from storage", text::bytes(usage.read_bytes)),
        ("written to storage", text::bytes(usage.written_bytes)),
        (
            "context switches",
            format!(
                "{:.2} an operation, {:.2} of them waits",
                per_operation(usage.voluntary_switches + usage.involuntary_switches),
                per_operation(usage.voluntary_switches)
            ),
        ),
        ("peak memory", text::bytes(outcome.peak_memory_bytes)),
    ];
    text::columns(&rows.map(|(name, value)| (name.to_owned(), value)))
}

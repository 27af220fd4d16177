//! `alluvium bench`: the scenarios of crate `bench`.

mod documents;
mod find;
mod iibench;
mod index;
mod kv;
mod load;
mod multivalue;
mod readonly;

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::text;
use std::time::Duration;

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Load generated comments, without a file between (making them is part of the time)
    Load(load::Args),
    /// Get random documents
    Get(documents::GetArgs),
    /// Ask questions by index, range, order and `$in`; again after documents were rewritten. Makes the indexes
    Find(find::Args),
    /// Update random documents: score + 1, by get and put, checked or blind
    Update(documents::UpdateArgs),
    /// Build an index beside a writer: how long it takes, and what the writer notices
    Index(index::Args),
    /// Random keys: puts, gets and deletes in fixed shares
    Kv(kv::Args),
    /// Rows in key order under indexes on values at random, from several loaders; then range queries
    Iibench(iibench::Args),
    /// Many values under a key: comment ids by author or by subreddit, put and read back
    Multivalue(multivalue::Args),
    /// Random gets from read-only stores: combinations of parameters in trials of random order
    Readonly(readonly::Args),
}

impl Command {
    /// Runs the scenario.
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Load(args) => args.run(),
            Self::Get(args) => args.run(),
            Self::Update(args) => args.run(),
            Self::Find(args) => args.run(),
            Self::Index(args) => args.run(),
            Self::Kv(args) => args.run(),
            Self::Iibench(args) => args.run(),
            Self::Multivalue(args) => args.run(),
            Self::Readonly(args) => args.run(),
        }
    }
}

/// How long and with how many threads.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// How long
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// The share of keys asked for that are there, 0 to 1
    #[arg(long, value_name = "SHARE")]
    find_rate: Option<f64>,
    /// Another seed chooses other keys
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON, with a sample for each second
    #[arg(long)]
    json: bool,
}

impl RunArgs {
    fn duration(&self) -> Outcome<Duration> {
        if self.threads == 0 {
            return Err(Failure::Usage("--threads is at least 1".to_owned()));
        }
        Duration::try_from_secs_f64(self.seconds)
            .map_err(|_| Failure::Usage("--seconds is a number above zero".to_owned()))
    }

    fn find_rate(&self, default: f64) -> Outcome<f64> {
        match self.find_rate.unwrap_or(default) {
            rate if (0.0..=1.0).contains(&rate) => Ok(rate),
            _ => Err(Failure::Usage("--find-rate is between 0 and 1".to_owned())),
        }
    }
}

/// Prints what a scenario found.
fn print(outcome: &alluvium_bench::scenarios::Outcome, json: bool) -> Outcome {
    let mut out = Output::new();
    if json {
        out.json(&serde_json::to_value(outcome).map_err(|error| Failure::Other(error.to_string()))?)?;
    } else {
        out.text(&describe(outcome))?;
    }
    out.finish()
}

fn describe(outcome: &alluvium_bench::scenarios::Outcome) -> String {
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

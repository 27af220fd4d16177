//! `alluvium-bench multivalue`.

use super::scenario::print;
use crate::comments::By;
use crate::scenarios::multivalue::{self, Found, Settings};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::settings::database::DatabaseArgs;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use alluvium_store::Options;
use std::time::Duration;

/// Arguments of `multivalue`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench multivalue trial.mv --by subreddit --entries 10000000 --memory 64M")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The key of each id
    #[arg(long, value_enum, default_value = "author")]
    by: Key,
    /// Ids to put
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    entries: u64,
    /// How long the scenario looks up keys
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Another seed gives other pairs
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Key {
    /// Millions of keys with few ids each
    Author,
    /// Some 130,000 keys, some with very many ids
    Subreddit,
}

impl Args {
    /// Fills a new store and reads it, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        files::refuse_inside(&alluvium_env::Env::os(), self.database.path())?;
        let duration = Duration::try_from_secs_f64(self.seconds)
            .map_err(|_| Failure::Usage("--seconds is a number above zero".to_owned()))?;
        let by = if self.by == Key::Author { By::Author } else { By::Subreddit };
        let settings = Settings { by, entries: self.entries, duration, seed: self.seed };
        let mut options = Options::default();
        if let Some(bytes) = self.database.memory_bytes()? {
            options.memory_bytes = bytes;
        }
        if alluvium_env::Env::os().fs.exists(self.database.path()).unwrap_or(false) {
            let what = format!("{} exists: this scenario fills a new store", self.database.path().display());
            return Err(Failure::Usage(what));
        }
        let found = multivalue::multivalue(self.database.path(), options, &settings).map_err(alluvium::Error::from)?;
        print(&found, self.json, describe)
    }
}

fn describe(found: &Found) -> String {
    let rate = |rate: f64| text::count(rate as u64);
    let rows = [
        ("values put", text::count(found.entries)),
        (
            "puts",
            format!("{} a second, {:.2} µs of processor time each", rate(found.puts_per_second), found.put_cpu_us),
        ),
        ("bytes on disk", format!("{:.2} a value", found.bytes_per_entry)),
        (
            "look-ups",
            format!(
                "{}, p50 {:.1} µs, p99 {:.1} µs with all values",
                text::count(found.lookups),
                found.latency.p50,
                found.latency.p99
            ),
        ),
        ("values read", format!("{} a second", rate(found.values_per_second))),
        (
            "largest key",
            format!(
                "{} values: {} a second forward, {} backward; its estimate is {:.2} of that",
                text::count(found.largest),
                rate(found.largest_values_per_second),
                rate(found.largest_values_per_second_back),
                found.estimate_over_length
            ),
        ),
        ("peak memory", text::bytes(found.peak_memory_bytes)),
    ];
    text::columns(&rows.map(|(name, value)| (name.to_owned(), value)))
}

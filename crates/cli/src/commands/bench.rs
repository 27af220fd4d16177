//! `alluvium bench`: the scenarios of crate `bench`, as JSON.

mod documents;
mod kv;
mod load;

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use std::time::Duration;

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Load generated comments, without a file between (making them is part of the time)
    Load(load::Args),
    /// Get random documents
    Get(documents::GetArgs),
    /// Update random documents: get, score + 1, put
    Update(documents::UpdateArgs),
    /// Random keys: puts, gets and deletes in fixed shares
    Kv(kv::Args),
}

impl Command {
    /// Runs the scenario.
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Load(args) => args.run(),
            Self::Get(args) => args.run(),
            Self::Update(args) => args.run(),
            Self::Kv(args) => args.run(),
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
fn print(outcome: &bench::scenarios::Outcome) -> Outcome {
    let mut out = Output::new();
    out.json(&serde_json::to_value(outcome).map_err(|error| Failure::Other(error.to_string()))?)?;
    out.finish()
}

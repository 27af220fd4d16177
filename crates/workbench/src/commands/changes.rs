//! `alluvium-bench changes`.

use super::scenario::print;
use crate::scenarios::changes::{self, Settings};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::settings::size;
use alluvium_cli::signals::Stop;
use alluvium_env::Env;
use std::path::PathBuf;

/// Arguments of `changes`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench changes trials --docs 300000 --memory 256M

Makes databases in the directory, one after the other, and removes them. Loads, updates and puts are measured with and without \
recording, in turn. Then a stream reads beside a load, and again alone. Then the events of single inserts are timed, with each \
durability, beside nothing and beside a load; a write waits until it is due by --rate.")]
pub(crate) struct Args {
    /// A directory for the databases, which must be empty if it exists
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Documents of a load
    #[arg(long, value_name = "N", default_value_t = 300_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    docs: u64,
    /// Updates, and puts
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    operations: u64,
    /// Writes whose events are timed; beside a load, as many as its time allows
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    writes: u64,
    /// Such writes in a second, at most
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: u64,
    /// How often loads, updates and puts are measured; the medians count
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Memory budget of each database, at least 8M
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "256M")]
    memory: u64,
    /// Another seed gives other documents, and chooses others
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Measures, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let memory_bytes = match usize::try_from(self.memory) {
            Ok(bytes) if bytes >= 8 << 20 => bytes,
            _ => return Err(Failure::Usage("--memory is at least 8M".to_owned())),
        };
        let env = Env::os();
        files::refuse_inside(&env, &self.dir)?;
        if env.fs.exists(&self.dir)? && !env.fs.list(&self.dir)?.is_empty() {
            return Err(Failure::Usage(format!("{} is not empty: name another directory", self.dir.display())));
        }
        env.fs.create_dir_all(&self.dir)?;
        alluvium_cli::allocator::prepare(memory_bytes);
        let settings = Settings {
            documents: self.docs,
            operations: self.operations,
            writes: self.writes,
            rate: self.rate,
            rounds: self.rounds,
            memory_bytes,
            seed: self.seed,
        };
        print(&changes::changes(&self.dir, &settings)?, self.json, changes::table)
    }
}

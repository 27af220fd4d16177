//! `alluvium-bench reads`.

use super::scenario::{RunArgs, describe, print};
use crate::scenarios::reads::{self, Settings};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::signals::Stop;
use alluvium_env::Env;
use std::path::PathBuf;

/// Arguments of `reads`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium-bench reads trial.db --threads 4 --seconds 10

This is what the disk can do: a get that finds none of its blocks in memory is at most as fast. Of a directory, all \
sorted files below it are read (*.sst), whatever belongs to it. Nothing is locked or written.")]
pub(crate) struct Args {
    /// Directories of databases or read-only stores, or files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    /// End after this number of reads, if that is earlier; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    operations: u64,
    /// Bytes of a read, which begins at a multiple of them
    #[arg(long, value_name = "N", default_value_t = 4096)]
    bytes: usize,
    /// Read through the system's page cache instead of past it
    #[arg(long)]
    cached: bool,
}

impl Args {
    /// Reads, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        if self.run.find_rate.is_some() {
            return Err(Failure::Usage("--find-rate has no meaning here: every block exists".to_owned()));
        }
        if !(1..=BYTES_MAX).contains(&self.bytes) {
            return Err(Failure::Usage(format!("--bytes is between 1 and {BYTES_MAX}")));
        }
        let settings = Settings {
            threads: self.run.threads,
            duration: self.run.duration()?,
            operations: self.operations,
            bytes: self.bytes,
            cached: self.cached,
            seed: self.run.seed,
        };
        let env = Env::os();
        let files = reads::data_files(&env, &self.paths, self.bytes)?;
        if files.is_empty() {
            let named: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            let what = format!("no sorted file (*.sst) of {} bytes or more in {}", self.bytes, named.join(", "));
            return Err(Failure::Usage(format!("{what}: name a database, a read-only store or a file")));
        }
        print(&reads::reads(&env, &files, &settings)?, self.run.json, describe)
    }
}

/// The maximum size of a read, in bytes.
const BYTES_MAX: usize = 16 << 20;

//! `alluvium-bench iibench`.

use super::scenario::print;
use crate::iibench::{self, MAX_INDEXES, Report, Settings, ours};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::settings::size;
use alluvium_cli::signals::Stop;
use std::path::PathBuf;

/// Arguments of `iibench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench iibench trial.db --rows 1000000 --loaders 2 --memory 112M --direct

The same over RocksDB and WiredTiger, side by side: see bench-peers/README.md in the sources.")]
pub(crate) struct Args {
    /// A directory, which must not exist
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Memory budget for caches and write buffers, at least 8M
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "256M")]
    memory: u64,
    /// Seal a partition's memtable at this number of bytes of keys and values, whatever the budget is: to compare caches alone
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memtable: Option<u64>,
    /// Partitions of the new database; as many as for any other if it is not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    partitions: Option<u32>,
    /// The number of rows
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    rows: u64,
    /// Threads that insert
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    loaders: u64,
    /// Rows in a batch, which is one transaction
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,
    /// Secondary indexes, at most 3: (price, customerid), (cashregisterid, price, customerid), (price, dateandtime, customerid)
    #[arg(long, value_name = "N", default_value_t = MAX_INDEXES as u64, value_parser = clap::value_parser!(u64).range(0..=MAX_INDEXES as u64))]
    indexes: u64,
    /// Letters of padding in a row
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    padding: u64,
    /// Rows between two lines of figures
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,
    /// Range queries of 10 entries over each index at the end
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    queries: u64,
    /// Write this percentage of the rows again at random, and run the queries twice more: settled, and merged
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100))]
    rewrite: u64,
    /// Begin no batch after this time; 0 is no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    limit_seconds: f64,
    /// Read and write sorted files without the system's page cache
    #[arg(long)]
    direct: bool,
    /// The layer that is measured
    #[arg(long, value_enum, default_value = "documents")]
    layer: Layer,
    /// Another seed gives other rows
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Layer {
    /// Documents in a collection, with its indexes
    Documents,
    /// The key/value store below: rows as BSON, index entries in trees of their own
    Pairs,
}

impl Args {
    /// Inserts, runs the queries, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let settings = self.settings()?;
        files::refuse_inside(&alluvium_env::Env::os(), &self.path)?;
        let (layer, name) = match self.layer {
            Layer::Documents => (ours::Layer::Documents, "alluvium"),
            Layer::Pairs => (ours::Layer::Pairs, "alluvium-pairs"),
        };
        if let Ok(bytes) = usize::try_from(self.memory) {
            alluvium_cli::allocator::prepare(bytes);
        }
        let engine = ours::open(layer, &self.path, &settings).map_err(failure)?;
        let report = iibench::run(name, engine, &self.path, &settings, &mut |_| {}).map_err(failure)?;
        print(&report, self.json, |report| {
            format!("{}\n{}", report.intervals_text(), Report::side_by_side(std::slice::from_ref(report)))
        })
    }

    fn settings(&self) -> Outcome<Settings> {
        if !(0.0..=1e9).contains(&self.limit_seconds) {
            return Err(Failure::Usage("--limit-seconds is 0 or a number of seconds above it".to_owned()));
        }
        Ok(Settings {
            rows: self.rows,
            loaders: self.loaders as usize,
            batch: self.batch,
            indexes: self.indexes as usize,
            padding: self.padding as usize,
            interval: self.interval,
            queries: self.queries,
            rewrite: self.rewrite,
            limit_seconds: self.limit_seconds,
            seed: self.seed,
            memory_bytes: self.memory,
            memtable_bytes: self.memtable,
            partitions: self.partitions,
            direct: self.direct,
        })
    }
}

/// Converts an error. Errors of the library keep their exit codes.
fn failure(error: iibench::Failure) -> Failure {
    match error.downcast::<alluvium::Error>() {
        Ok(error) => (*error).into(),
        Err(error) => match error.downcast::<alluvium_store::Error>() {
            Ok(error) => alluvium::Error::from(*error).into(),
            Err(error) => Failure::Usage(error.to_string()),
        },
    }
}

//! `bench-peers iibench`.

use super::{Common, new_directory, processes};
use crate::engines::wiredtiger::Kind::{BTree, Lsm};
use crate::engines::{rocksdb, wiredtiger};
use alluvium_workbench::iibench::{self, Engine, Failure, MAX_INDEXES, Report, Settings, ours};
use clap::ValueEnum;
use std::path::Path;

/// Inserts rows in key order under indexes on values at random, then reads ranges.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: bench-peers iibench trial --rows 1000000 --loaders 2 --memory 112M --direct")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Which engines, in this order
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Kind::value_variants().to_vec())]
    engines: Vec<Kind>,
    /// The number of rows
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    rows: u64,
    /// Threads that insert
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    loaders: u64,
    /// Rows in a batch, which is one transaction
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,
    /// Secondary indexes, at most 3
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
    /// Percent of the rows that are written again at random, before the queries run twice more: settled, and merged
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=100))]
    rewrite: u64,
    /// An engine begins no batch after this time; 0 is no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    limit_seconds: f64,
    /// Keep data out of the system's page cache
    #[arg(long)]
    direct: bool,
    /// Measure one engine in this process, and print its figures as JSON
    #[arg(long, hide = true)]
    only: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Documents in a collection of Alluvium, with its indexes
    Alluvium,
    /// Alluvium's key/value store, with the same bytes as the peers
    AlluviumPairs,
    /// RocksDB, a column family for each index
    #[value(name = "rocksdb")]
    RocksDb,
    /// WiredTiger's b-tree, a table for each index
    #[value(name = "wiredtiger")]
    WiredTiger,
    /// WiredTiger's LSM tree, a table for each index
    #[value(name = "wiredtiger-lsm")]
    WiredTigerLsm,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Alluvium => "alluvium",
            Self::AlluviumPairs => "alluvium-pairs",
            Self::RocksDb => "rocksdb",
            Self::WiredTiger => "wiredtiger",
            Self::WiredTigerLsm => "wiredtiger-lsm",
        }
    }

    fn open(self, dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>, Failure> {
        match self {
            Self::Alluvium => ours::open(ours::Layer::Documents, dir, settings),
            Self::AlluviumPairs => ours::open(ours::Layer::Pairs, dir, settings),
            Self::RocksDb => rocksdb::open(dir, settings),
            Self::WiredTiger => wiredtiger::open(BTree, dir, settings),
            Self::WiredTigerLsm => wiredtiger::open(Lsm, dir, settings),
        }
    }
}

impl Args {
    /// Measures one engine, or each in a process of its own.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.only {
            Some(kind) => self.measure(kind),
            None => self.measure_all(),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            rows: self.rows,
            loaders: self.loaders as usize,
            batch: self.batch,
            indexes: self.indexes as usize,
            padding: self.padding as usize,
            interval: self.interval,
            queries: self.queries,
            rewrite: self.rewrite,
            limit_seconds: self.limit_seconds,
            seed: self.common.seed,
            memory_bytes: self.common.memory,
            memtable_bytes: None,
            partitions: None,
            direct: self.direct,
        }
    }

    fn measure(&self, kind: Kind) -> Result<(), Failure> {
        let (dir, settings) = (self.common.path.join(kind.name()), self.settings());
        new_directory(&dir)?;
        let engine = kind.open(&dir, &settings)?;
        let mut line = |interval: &iibench::Interval| {
            eprintln!("{}: {} rows, {:.0} a second", kind.name(), interval.rows, interval.cost.rate());
        };
        let report = iibench::run(kind.name(), engine, &dir, &settings, &mut line)?;
        println!("{}", serde_json::to_string(&report)?);
        Ok(())
    }

    fn measure_all(&self) -> Result<(), Failure> {
        let names: Vec<&str> = self.engines.iter().map(|kind| kind.name()).collect();
        let measured = processes::each(&names, &self.common.path, self.common.keep)?;
        if self.common.json {
            println!("{}", serde_json::to_string_pretty(&measured.reports)?);
            return measured.end();
        }
        let reports = measured.reports.iter().map(|report| Ok(serde_json::from_value(report.clone())?));
        let reports: Vec<Report> = reports.collect::<Result<_, Failure>>()?;
        for report in &reports {
            println!("{}\n{}", report.engine, report.intervals_text());
        }
        print!("{}", Report::side_by_side(&reports));
        measured.end()
    }
}

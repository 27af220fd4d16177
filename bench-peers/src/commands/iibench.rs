//! iibench over Alluvium and its peers: one harness, one process for each engine, one table.

mod rocksdb;
mod wiredtiger;

use alluvium_workbench::iibench::{self, Engine, Failure, MAX_INDEXES, Report, Settings, ours};
use clap::{Parser, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Inserts rows in key order under indexes on values at random, then asks for ranges; each engine in a process of its
/// own, one after the other, and the figures side by side.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example: bench-peers trial --rows 1000000 --loaders 2 --memory 112M --direct")]
struct Args {
    /// A directory; each engine creates one in it, which is removed when its figures are taken
    #[arg(value_name = "FOLDER")]
    path: PathBuf,
    /// Which engines, in this order
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["alluvium", "alluvium-pairs", "rocksdb", "wiredtiger"])]
    engines: Vec<Kind>,
    /// Each engine's memory for caches and write buffers
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    memory: u64,
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
    /// An engine begins no batch after this time; 0 is no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    limit_seconds: f64,
    /// Keep data out of the system's page cache
    #[arg(long)]
    direct: bool,
    /// Another seed gives other rows
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Keep the engines' directories
    #[arg(long)]
    keep: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
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
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Alluvium => "alluvium",
            Self::AlluviumPairs => "alluvium-pairs",
            Self::RocksDb => "rocksdb",
            Self::WiredTiger => "wiredtiger",
        }
    }

    fn open(self, dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>, Failure> {
        match self {
            Self::Alluvium => ours::open(ours::Layer::Documents, dir, settings),
            Self::AlluviumPairs => ours::open(ours::Layer::Pairs, dir, settings),
            Self::RocksDb => rocksdb::open(dir, settings),
            Self::WiredTiger => wiredtiger::open(dir, settings),
        }
    }
}

/// Reads a size; the units are powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("write a size as 65536, 64K, 64M or 1G".to_owned()),
    };
    let number: Option<u64> = digits.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write a size as 65536, 64K, 64M or 1G".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.only {
        Some(kind) => measure(&args, kind),
        None => measure_all(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn settings(args: &Args) -> Settings {
    Settings {
        rows: args.rows,
        loaders: args.loaders as usize,
        batch: args.batch,
        indexes: args.indexes as usize,
        padding: args.padding as usize,
        interval: args.interval,
        queries: args.queries,
        limit_seconds: args.limit_seconds,
        seed: args.seed,
        memory_bytes: args.memory,
        memtable_bytes: None,
        direct: args.direct,
    }
}

/// Measures one engine in this process.
fn measure(args: &Args, kind: Kind) -> Result<(), Failure> {
    let (dir, settings) = (args.path.join(kind.name()), settings(args));
    let fs = alluvium_env::Env::os().fs;
    alluvium_env::create_dir_durably(&fs, &dir)?;
    if !fs.list(&dir)?.is_empty() {
        return Err(format!("{} is not empty: remove it, or name another folder", dir.display()).into());
    }
    let engine = kind.open(&dir, &settings)?;
    let mut line = |interval: &iibench::Interval| {
        eprintln!("{}: {} rows, {:.0} a second", kind.name(), interval.rows, interval.cost.rate());
    };
    let report = iibench::run(kind.name(), engine, &dir, &settings, &mut line)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Measures each engine in a process of its own. Its own arguments go to each, so that they are the same.
fn measure_all(args: &Args) -> Result<(), Failure> {
    let (mut reports, mut failed) = (Vec::new(), 0);
    let fs = alluvium_env::Env::os().fs;
    for kind in &args.engines {
        // An existing directory may hold other data: only directories that an engine creates below are removed.
        let dir = args.path.join(kind.name());
        if fs.exists(&dir)? {
            return Err(format!("{} exists: remove it, or name another folder", dir.display()).into());
        }
    }
    for kind in &args.engines {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1)).args(["--only", kind.name()]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if output.status.success() {
            reports.push(serde_json::from_slice::<Report>(&output.stdout)?);
        } else {
            eprintln!("bench-peers: {} failed", kind.name());
            failed += 1;
        }
        if !args.keep {
            remove(&*fs, &args.path.join(kind.name()))?;
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        for report in &reports {
            println!("{}\n{}", report.engine, report.intervals_text());
        }
        print!("{}", Report::side_by_side(&reports));
    }
    if failed > 0 { Err(format!("{failed} of the engines failed").into()) } else { Ok(()) }
}

/// Removes a folder that an engine has made.
fn remove(fs: &dyn alluvium_env::Fs, dir: &Path) -> Result<(), Failure> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for entry in fs.list(dir)? {
        let path = dir.join(&entry.name);
        if entry.is_dir { remove(fs, &path)? } else { fs.remove(&path)? }
    }
    Ok(fs.remove_dir(dir)?)
}

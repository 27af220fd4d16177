//! `bench-peers documents`.

use super::table::{self, Column};
use super::{Common, new_directory, processes, seconds, size};
use crate::encodings::{self, Floor};
use crate::engines::rocksdb::Compression::{Lz4, ZstdWithDictionary};
use crate::engines::wiredtiger::Kind::{BTree, Lsm};
use crate::engines::{Place, Store, sqlite};
use alluvium_workbench::peer::{Documents, Failure, ours};
use alluvium_workbench::scenarios::peers::{self, Settings};
use clap::ValueEnum;
use serde_json::json;

/// Bytes of a data block, of RocksDB and fjall: what their documentation suggests where size counts.
pub(super) const BLOCK_BYTES: usize = 16 << 10;

/// Generated comments of about 1.3 KB of JSON: puts, each a commit of its own; gets of whole documents and of one field;
/// gets from a cold disk with little memory; updates of one field, each reading and writing as one step; the same updates, ten
/// in each transaction.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: bench-peers documents trial --docs 1000000 --threads 2 --memory 256M

`parse` and `bson` are not databases: they show what a put takes before any database has the bytes.")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Which engines, in this order
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Engine::value_variants().to_vec())]
    engines: Vec<Engine>,
    /// Documents to put
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    docs: u64,
    /// Give the documents `_id`s in no order
    #[arg(long)]
    random_ids: bool,
    /// No puts begin after this time; 0 is no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    limit_seconds: f64,
    /// How long documents are read as a whole, one field of them is read, they are updated, and updated in transactions
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seconds: u64,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    threads: u64,
    /// The memory during gets from a cold disk
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    cold_memory: u64,
    /// The number of gets from a cold disk
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    cold_gets: u64,
    /// Measure one engine in this process, and print its figures as JSON
    #[arg(long, hide = true)]
    only: Option<Engine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Documents in a collection of Alluvium
    Alluvium,
    /// BSON in Alluvium's key/value store
    AlluviumPairs,
    /// BSON in RocksDB with LZ4, the last level zstd
    #[value(name = "rocksdb")]
    RocksDb,
    /// BSON in RocksDB with zstd and dictionaries
    #[value(name = "rocksdb-zstd")]
    RocksDbZstd,
    /// Alluvium's rows in RocksDB with LZ4, the last level zstd
    #[value(name = "rocksdb-rows")]
    RocksDbRows,
    /// Alluvium's rows in RocksDB with zstd and dictionaries
    #[value(name = "rocksdb-rows-zstd")]
    RocksDbRowsZstd,
    /// BSON in RocksDB's `TransactionDB` with LZ4, the last level zstd
    #[value(name = "rocksdb-transactions")]
    RocksDbTransactions,
    /// BSON in WiredTiger's b-tree with snappy
    #[value(name = "wiredtiger")]
    WiredTiger,
    /// BSON in WiredTiger's LSM tree with snappy
    #[value(name = "wiredtiger-lsm")]
    WiredTigerLsm,
    /// BSON in LMDB
    Lmdb,
    /// BSON in fjall
    Fjall,
    /// BSON in redb
    Redb,
    /// JSONB in SQLite
    Sqlite,
    /// Only parses the text of each document
    Parse,
    /// Only parses the text of each document, and encodes it as BSON
    Bson,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Alluvium => "alluvium",
            Self::AlluviumPairs => "alluvium-pairs",
            Self::RocksDb => "rocksdb",
            Self::RocksDbZstd => "rocksdb-zstd",
            Self::RocksDbRows => "rocksdb-rows",
            Self::RocksDbRowsZstd => "rocksdb-rows-zstd",
            Self::RocksDbTransactions => "rocksdb-transactions",
            Self::WiredTiger => "wiredtiger",
            Self::WiredTigerLsm => "wiredtiger-lsm",
            Self::Lmdb => "lmdb",
            Self::Fjall => "fjall",
            Self::Redb => "redb",
            Self::Sqlite => "sqlite",
            Self::Parse => "parse",
            Self::Bson => "bson",
        }
    }

    pub(crate) fn open(self, place: &Place<'_>) -> Result<Box<dyn Documents>, Failure> {
        let bson = |store: Store| Ok(encodings::bson(store.open(place)?));
        match self {
            Self::Alluvium => ours::documents(place.dir, place.memory_bytes),
            Self::AlluviumPairs => bson(Store::Alluvium),
            Self::RocksDb => bson(Store::RocksDb(Lz4)),
            Self::RocksDbZstd => bson(Store::RocksDb(ZstdWithDictionary)),
            Self::RocksDbRows => encodings::rows(Store::RocksDb(Lz4).open(place)?),
            Self::RocksDbRowsZstd => encodings::rows(Store::RocksDb(ZstdWithDictionary).open(place)?),
            Self::RocksDbTransactions => bson(Store::RocksDbTransactions),
            Self::WiredTiger => bson(Store::WiredTiger(BTree)),
            Self::WiredTigerLsm => bson(Store::WiredTiger(Lsm)),
            Self::Lmdb => bson(Store::Lmdb),
            Self::Fjall => bson(Store::Fjall),
            Self::Redb => bson(Store::Redb),
            Self::Sqlite => sqlite::open_documents(place),
            Self::Parse => Ok(Box::new(Floor::Parse)),
            Self::Bson => Ok(Box::new(Floor::Bson)),
        }
    }
}

const COLUMNS: [Column; 16] = [
    ("put CPU µs", "figures.put.settled_cpu_us", 1.0),
    ("put p99", "figures.put.latency.p99", 1.0),
    ("puts/s", "figures.put.rate", 1.0),
    ("disk/JSON", "figures.put.disk_over_json", 1.0),
    ("written/JSON", "figures.put.written_over_json", 1.0),
    ("get CPU µs", "figures.get.cpu_us", 1.0),
    ("get p50", "figures.get.latency.p50", 1.0),
    ("get p99", "figures.get.latency.p99", 1.0),
    ("field CPU µs", "figures.field.cpu_us", 1.0),
    ("cold p50", "figures.cold.latency.p50", 1.0),
    ("cold reads", "figures.cold.device_reads", 1.0),
    ("update CPU µs", "figures.update.settled_cpu_us", 1.0),
    ("update p99", "figures.update.latency.p99", 1.0),
    ("of ten CPU µs", "figures.transaction.settled_cpu_us", 1.0),
    ("of ten p99", "figures.transaction.latency.p99", 1.0),
    ("peak MB", "figures.peak_memory_bytes", 1e6),
];

impl Args {
    /// Measures one engine, or each in a process of its own.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.only {
            Some(engine) => self.measure(engine),
            None => self.measure_all(),
        }
    }

    fn measure(&self, engine: Engine) -> Result<(), Failure> {
        let dir = self.common.path.join(engine.name());
        new_directory(&dir)?;
        let limit = seconds(self.limit_seconds)?;
        let settings = Settings {
            documents: self.docs,
            random_ids: self.random_ids,
            put_limit: (!limit.is_zero()).then_some(limit),
            threads: usize::try_from(self.threads)?,
            duration: std::time::Duration::from_secs(self.seconds),
            operations: 0,
            memory_bytes: self.common.memory,
            cold_memory_bytes: self.cold_memory,
            cold_gets: self.cold_gets,
            seed: self.common.seed,
        };
        let open = |memory_bytes| {
            let threads = settings.threads;
            engine.open(&Place { dir: &dir, memory_bytes, threads, block_bytes: BLOCK_BYTES })
        };
        let figures = peers::documents(&open, &dir, &settings)?;
        println!("{}", json!({"engine": engine.name(), "figures": figures}));
        Ok(())
    }

    fn measure_all(&self) -> Result<(), Failure> {
        let names: Vec<&str> = self.engines.iter().map(|engine| engine.name()).collect();
        let measured = processes::each(&names, &self.common.path, self.common.keep)?;
        if self.common.json {
            println!("{}", serde_json::to_string_pretty(&measured.reports)?);
        } else {
            print!("{}", table::text(&COLUMNS, &measured.reports));
        }
        measured.end()
    }
}

//! `bench-peers kv`.

use super::table::{self, Column};
use super::{Common, new_directory, processes, seconds};
use crate::engines::rocksdb::Compression::{Lz4, ZstdWithDictionary};
use crate::engines::wiredtiger::Kind::{BTree, Lsm};
use crate::engines::{Place, Store};
use alluvium_workbench::peer::Failure;
use alluvium_workbench::scenarios::kv::{Mix, Settings};
use alluvium_workbench::scenarios::peers;
use clap::ValueEnum;
use serde_json::json;

/// Bytes of a data block: the default of RocksDB and fjall, since the values are large and do not compress.
const BLOCK_BYTES: usize = 4 << 10;

/// Random keys with values of one length: puts, deletes and gets in fixed shares, each write a commit of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: bench-peers kv trial --mix put-heavy --threads 2 --seconds 10 --memory 256M")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Which engines, in this order
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Engine::value_variants().to_vec())]
    engines: Vec<Engine>,
    /// The shares of puts, deletes and gets
    #[arg(long, value_enum, default_value_t = MixName::Balanced)]
    mix: MixName,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    threads: u64,
    /// How long the mix runs
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Different keys to draw from
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    key_space: u64,
    /// Length of the values in bytes
    #[arg(long, value_name = "N", default_value_t = 1024)]
    value_bytes: usize,
    /// Measure one engine in this process, and print its figures as JSON
    #[arg(long, hide = true)]
    only: Option<Engine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MixName {
    /// 33% puts, 33% deletes, 34% gets
    Balanced,
    /// 45% puts, 45% deletes, 10% gets
    DeleteHeavy,
    /// 10% puts, 5% deletes, 85% gets
    GetHeavy,
    /// 90% puts, 5% deletes, 5% gets
    PutHeavy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Alluvium's key/value store
    Alluvium,
    /// RocksDB with LZ4, the last level zstd
    #[value(name = "rocksdb")]
    RocksDb,
    /// RocksDB with zstd and dictionaries
    #[value(name = "rocksdb-zstd")]
    RocksDbZstd,
    /// WiredTiger's b-tree
    #[value(name = "wiredtiger")]
    WiredTiger,
    /// WiredTiger's LSM tree
    #[value(name = "wiredtiger-lsm")]
    WiredTigerLsm,
    /// LMDB
    Lmdb,
    /// fjall
    Fjall,
    /// redb
    Redb,
    /// SQLite, a table without a rowid
    Sqlite,
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::Alluvium => "alluvium",
            Self::RocksDb => "rocksdb",
            Self::RocksDbZstd => "rocksdb-zstd",
            Self::WiredTiger => "wiredtiger",
            Self::WiredTigerLsm => "wiredtiger-lsm",
            Self::Lmdb => "lmdb",
            Self::Fjall => "fjall",
            Self::Redb => "redb",
            Self::Sqlite => "sqlite",
        }
    }

    fn store(self) -> Store {
        match self {
            Self::Alluvium => Store::Alluvium,
            Self::RocksDb => Store::RocksDb(Lz4),
            Self::RocksDbZstd => Store::RocksDb(ZstdWithDictionary),
            Self::WiredTiger => Store::WiredTiger(BTree),
            Self::WiredTigerLsm => Store::WiredTiger(Lsm),
            Self::Lmdb => Store::Lmdb,
            Self::Fjall => Store::Fjall,
            Self::Redb => Store::Redb,
            Self::Sqlite => Store::Sqlite,
        }
    }
}

const COLUMNS: [Column; 8] = [
    ("op/s", "figures.rate", 1.0),
    ("CPU µs", "figures.settled_cpu_us", 1.0),
    ("p50 µs", "figures.latency.p50", 1.0),
    ("p99 µs", "figures.latency.p99", 1.0),
    ("worst/median", "figures.worst_over_median", 1.0),
    ("kB written/op", "figures.written_bytes", 1000.0),
    ("MB on disk", "figures.disk_bytes", 1e6),
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
        let threads = usize::try_from(self.threads)?;
        let place = Place { dir: &dir, memory_bytes: self.common.memory, threads, block_bytes: BLOCK_BYTES };
        let settings = Settings {
            mix: match self.mix {
                MixName::Balanced => Mix::Balanced,
                MixName::DeleteHeavy => Mix::DeleteHeavy,
                MixName::GetHeavy => Mix::GetHeavy,
                MixName::PutHeavy => Mix::PutHeavy,
            },
            key_space: self.key_space,
            value_bytes: self.value_bytes,
            threads,
            duration: seconds(self.seconds)?,
            seed: self.common.seed,
            ..Settings::default()
        };
        let figures = peers::kv(engine.store().open(&place)?, &dir, &settings)?;
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

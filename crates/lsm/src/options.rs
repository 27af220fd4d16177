//! The options of partitions, and the state that all partitions of a store share.

use crate::budget::Budget;
use crate::cache::Cache;
use crate::dictionary::Dictionaries;
use crate::policy::Policies;
use alluvium_env::Env;
use alluvium_sst::{Compression, DictionaryRegistry, WriterOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The options of all partitions of a store. `Default` suits documents and budgets from 64 MiB.
#[derive(Debug, Clone)]
pub struct Options {
    /// Identifies the database; a manifest of another database is refused.
    pub database_id: u64,
    /// Blocks, filters and compression of all files. The dictionary is chosen file by file.
    pub writer: WriterOptions,
    /// The compression of files in the base; if `None`, the compression of all files is used. Files
    /// that reach the base by a trivial move keep the compression with which they were flushed.
    pub base_compression: Option<Compression>,
    /// The compressed bytes after which an output file is closed. Default: 16 MiB.
    pub target_file_bytes: u64,
    /// A tree with fewer raw bytes than this in one output shares its file with its neighbours.
    /// Default: 1 MiB.
    pub small_tree_bytes: u64,
    /// The longest dictionary in bytes; 0 turns dictionaries off. Default: 64 KiB.
    pub dictionary_bytes: usize,
    /// The raw bytes of one tree from which a file gets a dictionary. Each running job holds up to
    /// this many bytes in memory until that is decided. Default: 4 MiB.
    pub dictionary_file_bytes: u64,
    /// The limit of the runs above the base, in percent of the base's bytes. Default: 15.
    pub upper_percent: u32,
    /// The bytes above the base that are always allowed (the picker allows four average flushes, if
    /// that is more). Default: 16 MiB.
    pub upper_floor_bytes: u64,
    /// If there are more runs above the base than this, runs of similar size are merged. Default:
    /// 4.
    pub soft_upper_runs: usize,
    /// If there are more runs than this in total, runs are merged regardless of their size.
    /// Default: 10.
    pub max_runs: usize,
    /// The input bytes that a base merge tries not to exceed. Default: 192 MiB.
    pub max_job_bytes: u64,
    /// The memory that range tombstones of a partition may take; beyond that, files are rewritten
    /// only to remove range tombstones. Default: 1 MiB.
    pub max_range_bytes: u64,
    /// The limit of the memory of a partition's range tombstones. A flush that would exceed it
    /// fails with [`alluvium_env::Error::TooManyRanges`] until compactions have removed range
    /// tombstones.
    pub full_range_bytes: usize,
    /// In one part of the key space, up to this many tombstones above the base are merged into the
    /// base only together with other work. More tombstones are also merged alone once they are a
    /// quarter of the entries that they may hide, because a scan steps over tombstones one by one.
    /// Default: 4096.
    pub few_tombstones: u64,
    /// Sorted files are read and written without the system's page cache. Default: false.
    pub direct_io: bool,
    /// A manifest that grows beyond this, and beyond four times its first frame, is replaced by a
    /// new one. Default: 1 MiB.
    pub manifest_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            database_id: 0,
            writer: WriterOptions::default(),
            base_compression: None,
            target_file_bytes: 16 << 20,
            small_tree_bytes: 1 << 20,
            dictionary_bytes: 64 << 10,
            dictionary_file_bytes: 4 << 20,
            upper_percent: 15,
            upper_floor_bytes: 16 << 20,
            soft_upper_runs: 4,
            max_runs: 10,
            max_job_bytes: 192 << 20,
            max_range_bytes: 1 << 20,
            full_range_bytes: alluvium_codec::limits::FULL_RANGE_BYTES,
            few_tombstones: 4096,
            direct_io: false,
            manifest_bytes: 1 << 20,
        }
    }
}

/// The state that all partitions of a store share.
pub struct Shared {
    /// The environment: file system, clock and other interfaces to the system.
    pub env: Env,
    /// As `env`, for the content of sorted files. It keeps a bounded number of files open; with
    /// [`Options::direct_io`] it bypasses the page cache.
    pub sorted_env: Env,
    /// The options.
    pub options: Options,
    /// The block cache.
    pub cache: Arc<Cache>,
    /// The memory budget.
    pub budget: Arc<Budget>,
    /// All dictionaries in use, each once.
    pub dictionaries: Arc<DictionaryRegistry>,
    /// The policies of the layer above.
    pub policies: Arc<Policies>,
    /// The current dictionary of each tree.
    pub(crate) trees: Dictionaries,
    file_numbers: AtomicU64,
}

impl Shared {
    /// Shared state with a new cache that fits `budget`.
    pub fn new(env: Env, options: Options, budget: Arc<Budget>, policies: Policies) -> Arc<Self> {
        let cache = Cache::new(&budget);
        let fs: Arc<dyn alluvium_env::Fs> = match options.direct_io {
            true => Arc::new(alluvium_env::DirectFs::new(env.fs.clone())),
            false => env.fs.clone(),
        };
        // A store may have more files than the process may have descriptors.
        let sorted_env = Env { fs: alluvium_env::BoundedFs::over(fs), ..env.clone() };
        Arc::new(Self {
            env,
            sorted_env,
            options,
            cache,
            budget,
            dictionaries: Arc::new(DictionaryRegistry::new()),
            policies: Arc::new(policies),
            trees: Dictionaries::new(),
            file_numbers: AtomicU64::new(1),
        })
    }

    /// Returns a file number that was never used. All partitions must be opened before the first
    /// call, because opening raises the numbers above the numbers in use.
    pub(crate) fn next_file_number(&self) -> u64 {
        self.file_numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// A number above the numbers of all files that were begun.
    pub fn file_number_bound(&self) -> u64 {
        self.file_numbers.load(Ordering::Relaxed)
    }

    /// Makes all further numbers at least `bound`.
    pub(crate) fn raise_file_numbers(&self, bound: u64) {
        self.file_numbers.fetch_max(bound, Ordering::Relaxed);
    }
}

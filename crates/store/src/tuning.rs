//! Sizes that tests make small.

/// Sizes that are otherwise derived from [`crate::Options::memory_bytes`], or suit millions of
/// documents. Tests make them small, so that hundreds of operations reach the states that a store
/// reaches within days. Nothing on disk depends on them; they may differ at each opening, and from
/// version to version. `None` leaves a size unchanged.
///
/// ```
/// use alluvium_store::{Options, Tuning};
/// let tuning = Tuning { memtable_bytes: Some(8 << 10), ..Tuning::default() };
/// let options = Options { tuning, ..Options::default() };
/// # let store = alluvium_store::Store::open(alluvium_env::Env::in_memory(1), std::path::Path::new("db"), options)?;
/// # Ok::<(), alluvium_store::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tuning {
    /// The capacity of the volume, to which memtables, log and sorted files are fitted if it is small. By default the
    /// system reports it.
    pub volume_bytes: Option<u64>,
    /// A memtable with more bytes of keys and values is sealed; so is the largest one when all
    /// together have twice as many.
    pub memtable_bytes: Option<u64>,
    /// Memtables that pin more bytes of the log are sealed.
    pub log_limit_bytes: Option<u64>,
    /// A manifest that grows above this is rewritten.
    pub manifest_bytes: Option<u64>,
    /// Runs above the base may always have this many bytes.
    pub upper_floor_bytes: Option<u64>,
    /// Above this number of runs, runs are merged whatever their size. At least 2.
    pub max_runs: Option<usize>,
    /// The input bytes that a base merge tries not to exceed.
    pub max_job_bytes: Option<u64>,
    /// A tree with fewer bytes than this in one output shares its file with its neighbours.
    pub small_tree_bytes: Option<u64>,
    /// Up to this number of tombstones above the base are merged into it only with other work.
    pub few_tombstones: Option<u64>,
    /// A file with this many bytes of one tree gets a dictionary of at most a sixteenth of that.
    pub dictionary_file_bytes: Option<u64>,
    /// Data blocks to a partition of a file's index. At least 2.
    pub index_partition_blocks: Option<usize>,
    /// The memory that the range tombstones of a partition may take.
    pub max_range_bytes: Option<u64>,
    /// A flush that would make them take more memory than this fails.
    pub full_range_bytes: Option<usize>,
    /// For the layer above: the number of definitions ([`crate::Definitions`]) that a tree may use.
    /// Documents that would need more are written without one.
    pub max_definitions: Option<u32>,
    /// The largest batch, in bytes of its log record.
    pub max_batch_bytes: Option<usize>,
    /// For the layer above: the bytes that it gathers in memory at a time: entries for an index,
    /// numbers of documents, matching keys, documents that are sorted.
    pub gather_bytes: Option<usize>,
}

impl Tuning {
    /// Refuses invalid sizes.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.max_runs.is_some_and(|runs| runs < 2) {
            return Err(("tuning.max_runs", "at least 2"));
        }
        if self.index_partition_blocks.is_some_and(|blocks| blocks < 2) {
            return Err(("tuning.index_partition_blocks", "at least 2"));
        }
        Ok(())
    }

    /// Copies the sizes that are set into the options of partitions.
    pub(crate) fn apply(&self, lsm: &mut alluvium_lsm::Options) {
        fn set<T: Copy>(into: &mut T, size: Option<T>) {
            if let Some(size) = size {
                *into = size;
            }
        }
        set(&mut lsm.manifest_bytes, self.manifest_bytes);
        set(&mut lsm.upper_floor_bytes, self.upper_floor_bytes);
        set(&mut lsm.max_runs, self.max_runs);
        set(&mut lsm.max_job_bytes, self.max_job_bytes);
        set(&mut lsm.small_tree_bytes, self.small_tree_bytes);
        set(&mut lsm.few_tombstones, self.few_tombstones);
        set(&mut lsm.max_range_bytes, self.max_range_bytes);
        set(&mut lsm.full_range_bytes, self.full_range_bytes);
        set(&mut lsm.writer.index_partition_blocks, self.index_partition_blocks);
        if let Some(bytes) = self.dictionary_file_bytes {
            lsm.dictionary_file_bytes = bytes;
            lsm.dictionary_bytes = (bytes / 16) as usize;
        }
    }
}

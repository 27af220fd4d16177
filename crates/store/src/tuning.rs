//! Sizes that tests reduce.

/// Sizes that are otherwise derived from [`crate::Options::memory_bytes`], or suit millions of documents. Tests reduce
/// them, so that hundreds of operations reach states that a store otherwise reaches after days. No format on disk
/// depends on them. They may differ at each opening, and from version to version. `None` leaves a size unchanged.
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
    /// The capacity of the volume. On a small volume, memtables, log and sorted files are smaller. By default the
    /// system reports the capacity.
    pub volume_bytes: Option<u64>,
    /// A memtable with more bytes of keys and values is sealed. If all memtables together have twice as many, the
    /// largest one is sealed.
    pub memtable_bytes: Option<u64>,
    /// If the log has more bytes than this, the memtable that pins its oldest part is sealed.
    pub log_limit_bytes: Option<u64>,
    /// A batch with at least this many bytes is compressed in the log.
    pub log_compression_bytes: Option<usize>,
    /// A manifest with more bytes than this is rewritten.
    pub manifest_bytes: Option<u64>,
    /// The bytes that runs above the base may always have.
    pub upper_floor_bytes: Option<u64>,
    /// If there are more runs than this, runs are merged whatever their size. At least 2.
    pub max_runs: Option<usize>,
    /// The number of input bytes that a base merge tries not to exceed.
    pub max_job_bytes: Option<u64>,
    /// A tree with fewer bytes than this in one output shares a file with neighbouring trees.
    pub small_tree_bytes: Option<u64>,
    /// Up to this number of tombstones above the base are merged into the base only together with other work.
    pub few_tombstones: Option<u64>,
    /// A file with this many bytes of one tree gets a dictionary. The dictionary has at most a sixteenth of these
    /// bytes.
    pub dictionary_file_bytes: Option<u64>,
    /// The number of data blocks in a partition of the index of a file. At least 2.
    pub index_partition_blocks: Option<usize>,
    /// If the range tombstones of a partition take more memory than this, files are rewritten to remove some of them.
    pub max_range_bytes: Option<u64>,
    /// A flush fails if the range tombstones of a partition would take more memory than this after it.
    pub full_range_bytes: Option<usize>,
    /// For the layer above: the number of definitions ([`crate::Definitions`]) that a tree may use. Documents that
    /// would need more definitions are written without one.
    pub max_definitions: Option<u32>,
    /// The largest batch, in bytes of its log record.
    pub max_batch_bytes: Option<usize>,
    /// For the layer above: the bytes that it collects in memory at a time: entries for an index, numbers of documents,
    /// matching keys, documents that are sorted.
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

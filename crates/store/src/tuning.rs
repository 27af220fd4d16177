//! Sizes that tests make small.

/// Sizes that otherwise follow from [`crate::Options::memory_bytes`], or suit documents by the million: for tests, which
/// then meet within hundreds of operations what a store meets within days. Nothing on disk depends on them; they may
/// differ at each opening, and from version to version. `None` leaves a size as it is.
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
    /// A memtable that has more bytes of keys and values is sealed, as is the largest when all together have twice as many.
    pub memtable_bytes: Option<u64>,
    /// Memtables that pin more bytes of the log are sealed.
    pub log_limit_bytes: Option<u64>,
    /// A manifest that grows beyond this is written anew.
    pub manifest_bytes: Option<u64>,
    /// Runs above the base may have so many bytes in any case.
    pub upper_floor_bytes: Option<u64>,
    /// Above so many runs in all, runs are merged whatever their size. At least 2.
    pub max_runs: Option<usize>,
    /// The input bytes that a base merge tries not to exceed.
    pub max_job_bytes: Option<u64>,
    /// A tree with fewer bytes than this in one output shares its file with its neighbours.
    pub small_tree_bytes: Option<u64>,
    /// So many tombstones above the base are merged into it only with other work.
    pub few_tombstones: Option<u64>,
    /// A file with so many bytes of one tree gets a dictionary of at most a sixteenth.
    pub dictionary_file_bytes: Option<u64>,
    /// Data blocks to a partition of a file's index. At least 2.
    pub index_partition_blocks: Option<usize>,
    /// Range tombstones of a partition may take so much memory.
    pub max_range_bytes: Option<u64>,
    /// No flush makes them take more than this.
    pub full_range_bytes: Option<usize>,
    /// Definitions of a tree in use ([`crate::Definitions`]), for the layer above: documents that would need more are
    /// written without.
    pub max_definitions: Option<u32>,
    /// What the layer above gathers in memory at a time, in bytes: entries for an index, numbers of documents, keys that
    /// match, what is sorted.
    pub gather_bytes: Option<usize>,
}

impl Tuning {
    /// Refuses what no store can run with.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.max_runs.is_some_and(|runs| runs < 2) {
            return Err(("tuning.max_runs", "at least 2"));
        }
        if self.index_partition_blocks.is_some_and(|blocks| blocks < 2) {
            return Err(("tuning.index_partition_blocks", "at least 2"));
        }
        Ok(())
    }

    /// Puts what is set into the options of partitions.
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

//! The configuration of WiredTiger's connections and tables.

/// Debian's place for the compressor.
const SNAPPY: &str = "/usr/lib/x86_64-linux-gnu/libwiredtiger_snappy.so";

/// Of the table of rows.
const ROWS: &str = "key_format=u,value_format=u,memory_page_max=10m,split_pct=90,leaf_value_max=64MB,\
                    block_compressor=snappy";
/// Of the tables of index entries.
const INDEX: &str = "key_format=u,value_format=u,internal_page_max=16k,leaf_page_max=16k,prefix_compression=true";

/// The in-memory chunk of an LSM tree: at most WiredTiger's default.
const CHUNK_MIN: u64 = 1 << 20;
const CHUNK_MAX: u64 = 10 << 20;
/// WiredTiger refuses to open an LSM tree with a cache of less than three chunks and a few pages.
pub(super) const LSM_CACHE_MIN: u64 = 40 << 20;

/// The structure of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A b-tree, as MongoDB's.
    BTree,
    /// An LSM tree, with filters of 16 bits.
    Lsm,
}

/// The log is written at each commit and not synced; a checkpoint every minute.
pub(super) fn connection(memory_bytes: u64, direct: bool) -> String {
    format!(
        "create,cache_size={memory_bytes},session_max=1100,mmap=false,log=(enabled=true),\
         transaction_sync=(enabled=true,method=none),checkpoint=(wait=60,log_size=2GB),\
         eviction=(threads_min=4,threads_max=4),extensions=[{SNAPPY}]{}",
        if direct { ",direct_io=[data]" } else { "" },
    )
}

impl Kind {
    /// The configuration of one of `tables` tables of a connection with this cache.
    pub(super) fn table(self, is_index: bool, tables: usize, memory_bytes: u64) -> String {
        let table = if is_index { INDEX } else { ROWS };
        match self {
            Self::BTree => table.to_owned(),
            // Of each tree, a chunk is filled while two are written, and dirty pages may have a fifth of the cache.
            Self::Lsm => {
                let chunk = (memory_bytes / 15 / tables as u64).clamp(CHUNK_MIN, CHUNK_MAX);
                format!("type=lsm,lsm=(chunk_size={chunk}),{table}")
            }
        }
    }

    /// True if a table has its data in this file.
    pub(super) fn is_of(self, table: &str, file: &str) -> bool {
        match self {
            Self::BTree => file.strip_suffix(".wt") == Some(table),
            // `table-000001.lsm`, and filters as `table-000001.bf`.
            Self::Lsm => file.strip_prefix(table).is_some_and(|rest| rest.starts_with('-')),
        }
    }
}

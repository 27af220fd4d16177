//! Entries that are salvaged, and what a file that cannot be read means for them.

use crate::error::Result;
use crate::trees::{SYSTEM, indexed_tree};
use alluvium_codec::entry::{Entry, Kind, Seq};

/// An entry, owned.
#[derive(Debug, Clone)]
pub(super) struct OwnedEntry {
    pub key: Vec<u8>,
    pub seq: Seq,
    pub kind: Kind,
    pub value: Vec<u8>,
    /// It stands in the log, and the log has no gap.
    pub latest: bool,
    /// It stands in the log, which has a gap, and files may have had something newer.
    pub outrun: bool,
}

impl OwnedEntry {
    pub fn of(entry: &Entry<'_>) -> Self {
        let (key, value) = (entry.key.to_vec(), entry.value.to_vec());
        Self { key, seq: entry.seq, kind: entry.kind, value, latest: false, outrun: false }
    }
}

/// The lowest and the highest key of something.
pub(super) type KeyRange = (Vec<u8>, Vec<u8>);

/// The tree of an index that an internal key is the mark of. Ids are never given again, so it was one if it is dropped, too.
pub(super) fn index_of(key: &[u8]) -> Option<u32> {
    indexed_tree(key.strip_prefix(&SYSTEM.0.to_be_bytes())?).map(|tree| tree.0)
}

/// What an attempt to read has found, or why the disk does not let it: that ends no salvage. Other errors do.
pub(super) fn readable<T>(found: alluvium_env::Result<T>) -> Result<std::result::Result<T, String>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(error @ alluvium_env::Error::Io { .. }) => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// What is named most often.
pub(super) fn most_frequent(ids: Vec<u64>) -> Option<u64> {
    ids.iter().copied().max_by_key(|id| ids.iter().filter(|other| *other == id).count())
}

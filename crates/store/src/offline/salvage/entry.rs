//! Salvaged entries, and helper functions for reading files and the log.

use crate::error::Result;
use crate::trees::{SYSTEM, indexed_tree};
use alluvium_codec::entry::{Entry, Kind, Seq};

/// An owned entry.
#[derive(Debug, Clone)]
pub(super) struct OwnedEntry {
    pub key: Vec<u8>,
    pub seq: Seq,
    pub kind: Kind,
    pub value: Vec<u8>,
    /// True if the entry is in the log, and the log has no gap.
    pub latest: bool,
    /// True if the entry is in a log with a gap, and files may have had a newer version.
    pub may_be_outdated: bool,
}

impl OwnedEntry {
    pub fn of(entry: &Entry<'_>) -> Self {
        let (key, value) = (entry.key.to_vec(), entry.value.to_vec());
        Self { key, seq: entry.seq, kind: entry.kind, value, latest: false, may_be_outdated: false }
    }
}

/// A range of keys: the lowest and the highest.
pub(super) type KeyRange = (Vec<u8>, Vec<u8>);

/// The tree that a key of the registry marks as an index. `key` is an internal key. Ids are never reused, so the result
/// also holds for a dropped tree.
pub(super) fn index_of(key: &[u8]) -> Option<u32> {
    indexed_tree(key.strip_prefix(&SYSTEM.0.to_be_bytes())?).map(|tree| tree.0)
}

/// The result of a read, or the reason why the file cannot be read. Such a reason does not end a salvage. Other errors
/// end it, including errors that are no evidence about the file.
pub(super) fn readable<T>(found: alluvium_env::Result<T>) -> Result<std::result::Result<T, String>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(error) if error.is_circumstance() => Err(error.into()),
        Err(error @ (alluvium_env::Error::Io { .. } | alluvium_env::Error::NotAFile { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The id that occurs most often.
pub(super) fn most_frequent(ids: Vec<u64>) -> Option<u64> {
    ids.iter().copied().max_by_key(|id| ids.iter().filter(|other| *other == id).count())
}

//! The bytes that a version holds only for snapshots, computed once for each version, so that a
//! query walks no files.

use crate::files::FileHandle;
use alluvium_codec::entry::Seq;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes by number and by tree.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Bytes of all files.
    pub bytes: u64,
    /// Sequence numbers of snapshots, ascending; with each, the bytes of shadowed entries whose
    /// last reader is that snapshot or a higher one.
    shadowed: Vec<(Seq, u64)>,
    /// Bytes of the files that hold only one tree, by tree.
    trees: HashMap<u32, u64>,
}

impl Kept {
    /// The figures of these files.
    pub fn of<'a>(files: impl Iterator<Item = &'a Arc<FileHandle>>) -> Self {
        let mut kept = Self::default();
        for file in files {
            let meta = &file.meta;
            kept.bytes += meta.bytes;
            if let [tree] = file.trees[..] {
                *kept.trees.entry(tree).or_default() += meta.bytes;
            }
            kept.shadowed.extend(file.kept_bytes());
        }
        kept.accumulate();
        kept
    }

    fn accumulate(&mut self) {
        self.shadowed.sort_unstable_by_key(|(seq, _)| *seq);
        let mut sum = 0;
        for (_, bytes) in self.shadowed.iter_mut().rev() {
            sum += *bytes;
            *bytes = sum;
        }
    }

    /// Bytes of shadowed entries that snapshots at or above `oldest` read, assuming such a snapshot
    /// exists.
    pub fn shadowed_from(&self, oldest: Seq) -> u64 {
        let at = self.shadowed.partition_point(|(last, _)| *last < oldest);
        self.shadowed.get(at).map_or(0, |(_, bytes)| *bytes)
    }

    /// Bytes of the files that hold only this tree.
    pub fn of_tree(&self, tree: u32) -> u64 {
        self.trees.get(&tree).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;

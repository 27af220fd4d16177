//! Proofs by filters that a version is the newest one of its key.

use crate::key::tree_of;
use crate::version::Run;
use crate::view::View;
use alluvium_codec::entry::{MAX_SEQ, Seq};
use alluvium_env::Result;
use alluvium_memtable::Memtable;
use alluvium_sst::Trace;
use std::sync::Arc;

/// Proves versions of many keys of one tree: the parts of a view that may have keys of the tree. Holds these memtables
/// and files until it is dropped.
pub struct NewestProver {
    superseded: Seq,
    memtables: Vec<Arc<Memtable>>,
    runs: Vec<Arc<Run>>,
}

impl View {
    /// True proves that the full write of `key` with the number `seq`, once visible, is still the newest version of the
    /// key. False proves nothing. Uses only filters, and reads no data block. Only for trees for which
    /// [`crate::TreeProperties::needs_numbers`] is true.
    ///
    /// A newer version would be in a memtable, under a range tombstone, or in a second place of the files, unless a
    /// flush or a compaction had both versions as input. In that case the newest version of the key marks the key in
    /// the filter of its file, or the number of the tree was raised to `seq` ([`crate::Superseded`]).
    ///
    /// # Errors
    /// As [`View::find`].
    pub fn proves_newest(&self, key: &[u8], seq: Seq) -> Result<bool> {
        if seq <= self.version.superseded.of(tree_of(key)) || self.cover(key, MAX_SEQ) > 0 {
            return Ok(false);
        }
        let uncommitted = self.uncommitted.iter().map(|uncommitted| &uncommitted.memtable);
        is_newest(key, uncommitted.chain(self.memtables()), &self.version.runs)
    }

    /// A prover for many keys of a tree at a sequence number that was taken before the view. `None` if range tombstones
    /// or uncommitted entries may hide keys.
    pub fn newest_prover(&self, tree: u32) -> Option<NewestProver> {
        if self.is_covered() {
            return None;
        }
        let has_tree = |run: &&Arc<Run>| run.files.iter().any(|file| file.trees.binary_search(&tree).is_ok());
        Some(NewestProver {
            superseded: self.version.superseded.of(tree),
            // The versions up to the number are in the memtables by now.
            memtables: self.memtables().filter(|memtable| !memtable.is_empty()).cloned().collect(),
            runs: self.version.runs.iter().filter(has_tree).cloned().collect(),
        })
    }
}

impl NewestProver {
    /// As [`View::proves_newest`], for a key of the tree.
    ///
    /// # Errors
    /// As [`View::find`].
    #[inline]
    pub fn proves(&self, key: &[u8], seq: Seq) -> Result<bool> {
        Ok(seq > self.superseded && is_newest(key, &self.memtables, &self.runs)?)
    }
}

/// True if no memtable has a version of `key`, and at most one of the runs, in which the key is not marked.
#[inline(always)]
fn is_newest<'a>(
    key: &[u8],
    memtables: impl IntoIterator<Item = &'a Arc<Memtable>>,
    runs: &[Arc<Run>],
) -> Result<bool> {
    let mut value = Vec::new();
    if memtables.into_iter().any(|memtable| memtable.get(key, MAX_SEQ, &mut value).is_some()) {
        return Ok(false);
    }
    let hash = alluvium_codec::hash64(key);
    if let [run] = runs {
        // There is no other place, so only a mark shows that the key was written again.
        return run.find(key).map_or(Ok(true), |file| Ok(!file.reader()?.is_marked(key, hash)?));
    }
    let mut places = 0;
    for run in runs {
        let Some(file) = run.find(key) else { continue };
        match file.reader()?.trace(key, hash)? {
            Trace::Absent => {}
            Trace::Written => places += 1,
            Trace::Rewritten => return Ok(false),
        }
    }
    Ok(places < 2)
}

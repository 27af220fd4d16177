//! The record that parts of an index lead through arrays.

use crate::error::Result;
use crate::marks;
use crate::state::CollectionState;
use alluvium_store::{Store, TreeId};
use std::sync::atomic::Ordering;

/// Parts of an index that lead through arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MultikeyParts {
    /// The tree of the index.
    pub index: TreeId,
    /// Bit n: part n.
    pub parts: u32,
}

/// Records that parts of indexes lead through arrays. A write calls it before it is numbered,
/// without locks, if its documents are the first ones with arrays there.
pub(crate) fn record_multikey(store: &Store, state: &CollectionState, found: &[MultikeyParts]) -> Result<()> {
    let _one_at_a_time = state.index_change.lock();
    let set = state.indexes();
    for MultikeyParts { index: tree, parts } in found {
        let Some(index) = set.indexes.iter().find(|index| index.tree == *tree) else { continue };
        let before = index.multikey.load(Ordering::SeqCst);
        if before | parts == before {
            continue;
        }
        marks::FIRST_ARRAY.hit();
        // Other writers rely on the bits that they see, and may be numbered at once: the
        // description has its number first.
        store.describe_trees(&[(*tree, &index.described_with(state.documents, before | parts))])?;
        index.multikey.store(before | parts, Ordering::SeqCst);
    }
    Ok(())
}
